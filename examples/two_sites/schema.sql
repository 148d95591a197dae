-- Run on one site only: the other one gets it by replication.
CREATE DATABASE IF NOT EXISTS web;

-- Tables of one site each: the other one only reads them.
CREATE TABLE IF NOT EXISTS web.visits_a (
  id   BIGINT AUTO_INCREMENT PRIMARY KEY,
  page VARCHAR(100) NOT NULL,
  at   TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE=HAILSTONE;
CREATE TABLE IF NOT EXISTS web.visits_b LIKE web.visits_a;

CREATE TABLE IF NOT EXISTS web.orders_a (
  id       BIGINT AUTO_INCREMENT PRIMARY KEY,
  article  VARCHAR(100) NOT NULL,
  quantity INT NOT NULL
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS web.orders_b LIKE web.orders_a;

-- Both sites insert here, often the same record. What a record says depends on its key only.
-- It has no unique key but the primary one.
CREATE TABLE IF NOT EXISTS web.records (
  id   BIGINT PRIMARY KEY,
  body VARCHAR(200) NOT NULL
) ENGINE=HAILSTONE;
