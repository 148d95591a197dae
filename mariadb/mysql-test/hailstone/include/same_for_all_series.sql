-- At each start of a server of the SQL tests: 11.8 makes the database with utf8mb4.
SET sql_log_bin = 0;
ALTER DATABASE test CHARACTER SET latin1 COLLATE latin1_swedish_ci;
