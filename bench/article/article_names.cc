#include "article/article_names.h"

#include <array>
#include <charconv>
#include <string_view>

#include "article/random_stream.h"

namespace hailstone {
namespace {

using std::string_view;

constexpr auto kSubstances = std::to_array<string_view>({
    "ACETYLCYSTEIN",
    "ACICLOVIR",
    "ALLOPURINOL",
    "ALENDRONSAEURE",
    "AMBROXOL",
    "AMIODARON",
    "AMITRIPTYLIN",
    "AMLODIPIN",
    "AMOXICILLIN",
    "ASS",
    "ATENOLOL",
    "ATORVASTATIN",
    "AZATHIOPRIN",
    "AZITHROMYCIN",
    "BACLOFEN",
    "BENAZEPRIL",
    "BISACODYL",
    "BISOPROLOL",
    "BROMAZEPAM",
    "BROMHEXIN",
    "BUDESONID",
    "CALCIUMCARBONAT",
    "CANDESARTAN",
    "CAPTOPRIL",
    "CARBAMAZEPIN",
    "CARVEDILOL",
    "CEFACLOR",
    "CEFUROXIM",
    "CETIRIZIN",
    "CIPROFLOXACIN",
    "CITALOPRAM",
    "CLARITHROMYCIN",
    "CLINDAMYCIN",
    "CLOPIDOGREL",
    "CLOTRIMAZOL",
    "CODEIN",
    "COLECALCIFEROL",
    "CYPROTERON",
    "DEXAMETHASON",
    "DEXPANTHENOL",
    "DIAZEPAM",
    "DICLOFENAC",
    "DIGITOXIN",
    "DILTIAZEM",
    "DIMENHYDRINAT",
    "DOXAZOSIN",
    "DOXYCYCLIN",
    "ENALAPRIL",
    "EPROSARTAN",
    "ERYTHROMYCIN",
    "ESTRADIOL",
    "FELODIPIN",
    "FENOFIBRAT",
    "FENTANYL",
    "FINASTERID",
    "FLUCONAZOL",
    "FLUOXETIN",
    "FOLSAEURE",
    "FUROSEMID",
    "GABAPENTIN",
    "GLIBENCLAMID",
    "GLIMEPIRID",
    "HALOPERIDOL",
    "HEPARIN",
    "HYDROCHLOROTHIAZID",
    "HYDROCORTISON",
    "IBUPROFEN",
    "INDAPAMID",
    "INDOMETACIN",
    "IRBESARTAN",
    "ISOSORBIDDINITRAT",
    "ITRACONAZOL",
    "KALIUMCHLORID",
    "LACTULOSE",
    "LAMOTRIGIN",
    "LANSOPRAZOL",
    "LEVODOPA",
    "LEVOFLOXACIN",
    "LEVOTHYROXIN",
    "LISINOPRIL",
    "LOPERAMID",
    "LORATADIN",
    "LORAZEPAM",
    "LOSARTAN",
    "MAGNESIUM",
    "MELOXICAM",
    "METAMIZOL",
    "METFORMIN",
    "METHOTREXAT",
    "METOCLOPRAMID",
    "METOPROLOL",
    "METRONIDAZOL",
    "MIRTAZAPIN",
    "MOCLOBEMID",
    "MOLSIDOMIN",
    "MORPHIN",
    "MOXONIDIN",
    "NAPROXEN",
    "NIFEDIPIN",
    "NITRENDIPIN",
    "NITROFURANTOIN",
    "OFLOXACIN",
    "OLANZAPIN",
    "OMEPRAZOL",
    "OXAZEPAM",
    "OXYBUTYNIN",
    "PANTOPRAZOL",
    "PARACETAMOL",
    "PAROXETIN",
    "PENICILLIN V",
    "PENTOXIFYLLIN",
    "PIROXICAM",
    "PRAVASTATIN",
    "PREDNISOLON",
    "PROPRANOLOL",
    "QUETIAPIN",
    "RAMIPRIL",
    "RANITIDIN",
    "RISPERIDON",
    "ROXITHROMYCIN",
    "SALBUTAMOL",
    "SERTRALIN",
    "SIMVASTATIN",
    "SOTALOL",
    "SPIRONOLACTON",
    "SUMATRIPTAN",
    "TAMOXIFEN",
    "TERBINAFIN",
    "THEOPHYLLIN",
    "TILIDIN",
    "TIMOLOL",
    "TORASEMID",
    "TRAMADOL",
    "TRIAMTEREN",
    "TRIMIPRAMIN",
    "VALPROINSAEURE",
    "VENLAFAXIN",
    "VERAPAMIL",
    "XYLOMETAZOLIN",
    "ZOLPIDEM",
    "ZOPICLON",
});

constexpr auto kStrengths = std::to_array<string_view>({
    "0,5MG",   "1MG",      "1,25MG", "2MG",   "2,5MG",   "4MG",     "5MG",      "7,5MG",     "8MG",
    "10MG",    "15MG",     "16MG",   "20MG",  "25MG",    "30MG",    "32MG",     "40MG",      "50MG",
    "75MG",    "80MG",     "100MG",  "125MG", "150MG",   "160MG",   "200MG",    "250MG",     "300MG",
    "400MG",   "500MG",    "600MG",  "750MG", "800MG",   "850MG",   "1000MG",   "0,1%",      "0,5%",
    "1%",      "2%",       "5%",     "10%",   "1000 IE", "5000 IE", "20000 IE", "10/12,5MG", "20/12,5MG",
    "20/25MG", "100/25MG", "D6",     "D12",   "D30",     "C30",
});

constexpr auto kGoods = std::to_array<string_view>({
    "KOMPRESSEN STERIL",
    "MULLBINDE ELASTISCH",
    "FIXIERBINDE",
    "WUNDPFLASTER",
    "PFLASTERSTRIPS",
    "HEFTPFLASTER",
    "VERBANDMULL",
    "WATTE",
    "EINMALSPRITZE",
    "KANUELE",
    "INFUSIONSBESTECK",
    "BLASENKATHETER",
    "URINBEUTEL",
    "STOMABEUTEL",
    "INKONTINENZEINLAGE",
    "KRANKENUNTERLAGE",
    "FIEBERTHERMOMETER",
    "BLUTDRUCKMESSGERAET",
    "BLUTZUCKERTESTSTREIFEN",
    "LANZETTEN",
    "UNTERSUCHUNGSHANDSCHUHE",
    "MUNDSCHUTZ",
    "HAUTCREME",
    "HANDCREME",
    "FUSSBALSAM",
    "KOERPERLOTION",
    "SONNENMILCH LSF 30",
    "DUSCHGEL",
    "SHAMPOO",
    "LIPPENPFLEGE",
    "ZAHNCREME",
    "ZAHNBUERSTE",
    "MUNDSPUELUNG",
    "HAFTCREME",
    "BABYOEL",
    "WUNDSCHUTZCREME",
    "SAUGER SILIKON",
    "TRINKFLASCHE",
    "FOLGEMILCH",
    "KRAEUTERTEE",
    "KAMILLENTEE",
    "HUSTENBONBONS",
    "TRAUBENZUCKER",
    "VITAMIN C BRAUSE",
    "ZINK KOMPLEX",
    "JOHANNISKRAUT",
    "BALDRIAN",
    "ARNIKA SALBE",
    "FRANZBRANNTWEIN",
    "MINERALBAD",
    "WAERMEPFLASTER",
    "KUEHLKISSEN",
    "KOMPRESSIONSSTRUMPF",
    "KNIEBANDAGE",
    "HANDGELENKSTUETZE",
    "GEHSTOCK",
    "SONDENNAHRUNG",
    "TRINKNAHRUNG VANILLE",
});

constexpr auto kGoodsKinds = std::to_array<string_view>({
    "5X5CM", "7,5X7,5CM", "10X10CM", "10X20CM", "4CMX4M", "6CMX4M",      "8CMX4M",  "10CMX5M", "2ML",
    "5ML",   "10ML",      "20ML",    "GR S",    "GR M",   "GR L",        "GR XL",   "GR 1",    "GR 2",
    "GR 3",  "CH 12",     "CH 14",   "CH 16",   "CH 18",  "SENSITIV",    "CLASSIC", "PLUS",    "MILD",
    "BLAU",  "WEISS",     "BEIGE",   "SCHWARZ", "UNPARF", "PARFUEMFREI", "EXTRA",   "SOFT",    "BABY",
});

constexpr auto kSyllables = std::to_array<string_view>({
    "AL",  "BEN", "BI",  "BRON", "CAL", "CAR", "CE",  "COR", "DE", "DI", "DO", "DOL", "DUR", "EN", "ES",
    "EU",  "FEM", "FER", "FLU",  "GA",  "GEN", "GLY", "HE",  "HU", "IN", "IS", "KA",  "KE",  "LA", "LE",
    "LIN", "LO",  "LU",  "MA",   "ME",  "MI",  "MO",  "MU",  "NA", "NE", "NO", "NU",  "OP",  "OR", "OS",
    "PA",  "PE",  "PRO", "PUL",  "RA",  "RE",  "RHI", "RO",  "SA", "SE", "SI", "SO",  "SPA", "TA", "TE",
    "THY", "TO",  "TRI", "TU",   "UL",  "UR",  "VA",  "VE",  "VI", "VO", "XA", "XI",  "ZA",  "ZO",
});

constexpr auto kBrandEndings = std::to_array<string_view>({
    "AN",
    "IN",
    "OL",
    "ON",
    "AX",
    "EX",
    "IL",
    "AL",
    "ID",
    "IT",
    "OX",
    "UM",
    "ASAN",
    "ERM",
    "IVA",
    "OPT",
});

constexpr auto kBrandSuffixes = std::to_array<string_view>({
    " FORTE",
    " MITE",
    " RETARD",
    " COMP",
    " PLUS",
    " N",
    " S",
    " AKUT",
    " DUO",
    " UNO",
    " LONG",
    " KIDS",
    " SINE",
    " ZUR NACHT",
    " FUER KINDER",
    " PHYTO",
});

constexpr auto kLabelEndings = std::to_array<string_view>({
    "PHARM",
    "MED",
    "CHEM",
    "VITA",
    "AL",
    "A",
    "O",
    "PHARMA",
    "CUR",
    "SAN",
    "LAB",
    "WERK",
});

constexpr auto kSolidForms = std::to_array<string_view>({
    "TABLETTEN",
    "FILMTABLETTEN",
    "RETARDTABLETTEN",
    "KAPSELN",
    "HARTKAPSELN",
    "DRAGEES",
    "BRAUSETABLETTEN",
    "SUPPOSITORIEN",
    "AMPULLEN",
    "BEUTEL",
    "GRANULAT",
    "PFLASTER",
    "TBL",
    "FTA",
    "KAPS",
});
constexpr auto kSolidSizes = std::to_array<string_view>({
    "1 ST",  "5 ST",  "6 ST",  "7 ST",  "10 ST", "12 ST", "14 ST",  "20 ST",  "28 ST",  "30 ST",  "42 ST",
    "50 ST", "56 ST", "60 ST", "84 ST", "90 ST", "98 ST", "100 ST", "120 ST", "180 ST", "200 ST",
});
constexpr auto kLiquidForms = std::to_array<string_view>({
    "TROPFEN",
    "SAFT",
    "SALBE",
    "CREME",
    "GEL",
    "LOESUNG",
    "SIRUP",
    "AUGENTROPFEN",
    "NASENSPRAY",
    "EMULSION",
    "PASTE",
    "PULVER",
    "OEL",
    "LOTION",
    "TEE",
});
constexpr auto kLiquidSizes = std::to_array<string_view>({
    "5 ML",  "10 ML", "15 ML",  "20 ML",  "25 G",  "30 G",   "30 ML",  "40 G",  "50 G",   "50 ML",   "60 G",
    "75 ML", "100 G", "100 ML", "125 ML", "150 G", "200 ML", "250 ML", "500 G", "500 ML", "1000 ML",
});

template <size_t Size>
string_view pick(const std::array<string_view, Size>& words, RandomStream& random) {
  return words[random.below(Size)];
}

/// Lists of a price list are not used evenly: the first words are much more frequent than the last.
template <size_t Size>
string_view pick_skewed(const std::array<string_view, Size>& words, RandomStream& random) {
  const uint64_t first = random.below(Size);
  return words[random.below(first + 1)];
}

void append_number(uint64_t number, std::string& to) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  to.append(digits.data(), end);
}

void append_label(uint64_t manufacturer, std::string& to) {
  RandomStream random(0x6c6162656cU, manufacturer);
  to += pick(kSyllables, random);
  to += pick(kSyllables, random);
  to += pick(kLabelEndings, random);
}

void append_brand(RandomStream& random, std::string& to) {
  to += pick(kSyllables, random);
  to += pick(kSyllables, random);
  if (random.chance(85)) to += pick(kSyllables, random);
  to += pick(kBrandEndings, random);
}

/// Cuts what was appended from `start` on to `limit` bytes, without a space at the end.
void limit_length(std::string& text, size_t start, size_t limit) {
  if (text.size() - start > limit) text.resize(start + limit);
  while (text.back() == ' ') text.pop_back();
}

}  // namespace

void append_article_name(uint64_t article, uint64_t manufacturer, std::string& to) {
  RandomStream random(0x61727469636c65U, article);
  size_t start = to.size();
  const uint64_t kind = random.below(100);
  bool goods = false;
  if (kind < 45) {  // a generic drug: substance, label, strength
    to += pick_skewed(kSubstances, random);
    to += ' ';
    append_label(manufacturer, to);
    to += ' ';
    to += pick_skewed(kStrengths, random);
  } else if (kind < 80) {  // a brand of its own
    append_brand(random, to);
    if (random.chance(75)) to += pick(kBrandSuffixes, random);
    if (random.chance(95)) {
      to += ' ';
      to += pick_skewed(kStrengths, random);
    }
  } else {
    goods = true;
    to += pick_skewed(kGoods, random);
    to += ' ';
    if (random.chance(50)) {
      append_label(manufacturer, to);
    } else {
      append_brand(random, to);
    }
    to += ' ';
    to += pick_skewed(kGoodsKinds, random);
    if (random.chance(80)) {
      to += ' ';
      append_number(10 + random.below(990), to);
    }
  }
  limit_length(to, start, kArticleNameLimit);

  to += '\t';
  start = to.size();
  if (goods) {
    append_number(1 + random.below(random.chance(70) ? 12 : 100), to);
    to += random.chance(70) ? " ST" : " PACK";
  } else if (random.chance(65)) {
    to += pick_skewed(kSolidForms, random);
    to += ' ';
    to += pick(kSolidSizes, random);
    if (random.chance(50)) {
      to += " N";
      to += static_cast<char>('1' + random.below(3));
    }
  } else {
    to += pick_skewed(kLiquidForms, random);
    to += ' ';
    to += pick(kLiquidSizes, random);
  }
  limit_length(to, start, kArticleTextLimit);
}

}  // namespace hailstone
