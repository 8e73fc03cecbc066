"""Adult: people of the 1994 census of the United States.

Source: https://archive.ics.uci.edu/dataset/2/adult, file adult.data. Licence: CC BY 4.0.
sha256 of the decompressed file: 5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d

The 12 columns that the authors of HI-VAE chose and the paper took over: education-num, native-country and income are
dropped. "?" is missing, and so is the workclass "Never-worked" of seven people, as in their file: 1843 cells of
workclass and 1843 of occupation. The paper's table has one count, its data (and this) have two: age and
hours-per-week. Categories have the order of their codes there.
"""

from __future__ import annotations

from ._columns import count, nominal, ordinal, positive, with_zeros
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "adult.data",
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
)
ALTERNATIVES = ((FILE,),)
HEADER = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
WORKCLASS = ["Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay"]
EDUCATION = [
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
]
MARITAL = [
    "Married-civ-spouse",
    "Divorced",
    "Never-married",
    "Separated",
    "Widowed",
    "Married-spouse-absent",
    "Married-AF-spouse",
]
OCCUPATION = [
    "Tech-support",
    "Craft-repair",
    "Other-service",
    "Sales",
    "Exec-managerial",
    "Prof-specialty",
    "Handlers-cleaners",
    "Machine-op-inspct",
    "Adm-clerical",
    "Farming-fishing",
    "Transport-moving",
    "Priv-house-serv",
    "Protective-serv",
    "Armed-Forces",
]
RELATIONSHIP = ["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"]
RACE = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]
COLUMNS = [
    *count("age"),
    *nominal("workclass", *WORKCLASS),
    *positive("fnlwgt"),
    *ordinal("education", *EDUCATION),
    *nominal("marital-status", *MARITAL),
    *nominal("occupation", *OCCUPATION),
    *nominal("relationship", *RELATIONSHIP),
    *nominal("race", *RACE),
    *nominal("sex", "Male", "Female"),
    *with_zeros("capital-gain", "capital-loss"),
    *count("hours-per-week"),
]


def adult() -> Dataset:
    """Adult: 32561 people, 12 columns."""
    frame = read_csv("adult", FILE, names=HEADER, skipinitialspace=True, na_values={"occupation": "?"})
    frame["workclass"] = frame["workclass"].where(frame["workclass"].isin(WORKCLASS))
    return dataset(
        "adult",
        frame,
        COLUMNS,
        note="Two counts, where the paper's table says one: its columns add up to 11 of 12.",
    )
