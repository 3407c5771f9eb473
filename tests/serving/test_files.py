"""Files of predictions: what is kept of a run, what is read, and what is refused."""

import io
import json
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.common.text_levels import LevelColumn
from pymc_nrm.recipes.reading.table import read_columns
from pymc_nrm_predictor import Predictor
from pymc_nrm_predictor.file_format import FORMAT, read_file, write_file
from pymc_nrm_predictor.reading.recorded import description_of
from pymc_nrm_predictor.recorded_columns import coded, recorded_columns
from tests.helpers import mixture_of
from tests.serving.serving_cases import KINDS, QUIET, draws_of_labels, predictor_of, table

ROOT = pathlib.Path(__file__).parents[2]
DATA = pathlib.Path(__file__).parent / "data"

X = np.array([[0.0, 0.1], [0.3, -0.2], [5.0, 5.2], [5.1, 4.7]])


def model_of_points():
    return mixture_of(nrm.NormalWishart(mu=[0.0, 0.0], kappa=0.1, Psi=np.eye(2), nu=4.0), X)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "points.nrm"
    idata = draws_of_labels([[0, 0, 1, 1], [0, 0, 0, 1]])
    nrm.serving.export(idata, model_of_points(), path, estimate=[0, 0, 1, 1], **QUIET)
    return path


def test_equal_exports_are_equal_files(path, tmp_path):
    description, arrays = read_file(path)
    assert write_file(tmp_path / "again", {k: v for k, v in description.items() if k != "format"}, arrays)
    with zipfile.ZipFile(path) as one, zipfile.ZipFile(tmp_path / "again") as other:
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }
    # NumPy alone reads the arrays.
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["start"].tolist() == [0, 3, 6, 9, 12]
        assert json.loads(arrays["description.json"])["format"] == FORMAT


def test_paths_are_checked(path, tmp_path):
    with pytest.raises(FileExistsError, match=r"points\.nrm.* already exists"):
        nrm.serving.export(draws_of_labels([[0, 0, 1, 1]]), model_of_points(), path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Predictor(tmp_path / "other")
    with pytest.raises(TypeError, match="path must be the path of a file; got 3"):
        Predictor(3)
    with pytest.raises(ValueError, match="n_draws must be a whole number of at least 1, or 'all'; got 'some'"):
        nrm.serving.export(draws_of_labels([[0, 0, 1, 1]]), model_of_points(), tmp_path / "new", n_draws="some")
    assert [file.name for file in tmp_path.iterdir()] == ["points.nrm"]


def changed(path, **changes):
    """A copy of a file with changes of its members, None to leave one out."""
    copy = path.parent / "copy.nrm"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            content = changes.get(name.partition(".")[0], old.read(name))
            if content is not None:
                new.writestr(name, content(old.read(name)) if callable(content) else content)
    return copy


def edited(**entries):
    return lambda content: json.dumps(json.loads(content) | entries)


def test_files_of_later_formats_are_refused(path):
    with pytest.raises(ValueError, match=f"has the format {FORMAT + 1}.*formats up to {FORMAT}.*pymc_nrm"):
        Predictor(changed(path, description=edited(format=FORMAT + 1)))
    # What a later version adds within a format is not read.
    assert Predictor(changed(path, description=edited(further="new"))).n_draws == 4


DAMAGES = {
    "no zip": (None, "BadZipFile"),
    "cut": (None, "BadZipFile"),
    "flipped": (None, "CRC|invalid|Error"),
    "description": ({"description": None}, "description.json"),
    "JSON": ({"description": "{"}, "JSONDecodeError"),
    "format": ({"description": edited(format="new")}, "no number of a format"),
    "array": ({"mixture_0_location": None}, "'mixture_0_location' is missing"),
    "header": ({"log_weight": b"no array at all"}, "ValueError"),
    "distribution": ({"description": edited(mixtures=[{"distribution": "odd"}])}, "'odd' is unknown"),
    "mixtures": ({"description": edited(mixtures=[])}, "no mixture"),
    "entry": ({"description": edited(mixtures=[{"distribution": "student"}])}, "KeyError: 'name'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_say_so(damage, path):
    changes, message = DAMAGES[damage]
    if changes is not None:
        path = changed(path, **changes)
    content = bytearray(path.read_bytes())
    if damage == "no zip":
        content = b"no zip"
    elif damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        with zipfile.ZipFile(path) as archive:
            place = archive.getinfo("log_weight.npy").header_offset + 60
        content[place : place + 4] = bytes(255 - byte for byte in content[place : place + 4])
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"(?s)is no file that nrm\.serving\.export has written.*({message})"):
        Predictor(path)


def test_arrays_are_checked(path, tmp_path):
    description, arrays = read_file(path)
    del description["format"]

    def refused(message, **changes):
        copy = tmp_path / f"copy {len(list(tmp_path.iterdir()))}"
        write_file(copy, description, arrays | changes)
        with pytest.raises(ValueError, match=message):
            Predictor(copy)

    refused("12 entries", log_weight=arrays["log_weight"][1:], share=arrays["share"])
    refused("do not follow", start=arrays["start"][::-1])
    refused("not finite", mixture_0_df=np.full(12, np.nan))
    refused("no lower triangles", mixture_0_whitening=np.ones((12, 4)))
    refused("type <U1", mixture_0_df=np.full(12, "a"))
    refused("shares of 2 clusters, and labels of 1", clusters=np.array([0]))


def test_no_pickle_is_read(path, tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([print, None], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        Predictor(changed(path, log_weight=stream.getvalue()))


def test_draws_are_thinned_until_nothing_is_lost(tmp_path, caplog):
    """Independent draws need more of them than draws that are all equal."""
    rng = np.random.default_rng(1)
    equal = draws_of_labels(np.tile([0, 0, 1, 1], (200, 1)))
    different = draws_of_labels(
        [[0, 0, *labels] for labels in np.array([[0, 0], [0, 1], [1, 1], [1, 2]])[rng.integers(4, size=200)]]
    )
    model, found = model_of_points(), {}
    with caplog.at_level("INFO", logger="pymc.nrm_results"):
        for name, idata in {"equal": equal, "different": different}.items():
            found[name] = nrm.serving.export(idata, model, tmp_path / name, estimate=[0, 0, 1, 1], **QUIET)
            assert (tmp_path / name).stat().st_size == found[name].n_bytes
            assert found[name].n_draws_of_run == 400
    assert found["equal"].n_draws == 25 < found["different"].n_draws
    for error, of_all in zip(found["different"].thinning_error, found["different"].monte_carlo_error, strict=True):
        assert error <= 0.5 * of_all
    assert "25 of 400 draws" in caplog.text and "nats" in caplog.text
    kept = Predictor(tmp_path / "different")
    assert kept.n_draws == found["different"].n_draws == kept.description["draws"]["kept"]
    # The errors are those of the predictions of rows of the data.
    whole = predictor_of(different, model, tmp_path, estimate=[0, 0, 1, 1])
    change = np.sqrt(((kept.log_density(X) - whole.log_density(X)) ** 2).mean())
    assert change == pytest.approx(found["different"].thinning_error[0], rel=1e-6)
    few = nrm.serving.export(different, model, tmp_path / "few", n_draws=7, estimate=[0, 0, 1, 1], **QUIET)
    assert few.n_draws == Predictor(tmp_path / "few").n_draws == 7


def test_predictions_of_new_rows_are_checked(path):
    predictor = Predictor(path)
    assert repr(predictor) == "Predictor(x; 4 draws, 2 clusters of the estimate)"
    assert predictor.log_density(X).shape == (4,)
    for values, message in (
        ([[np.inf, 0.0]], "infinite"),
        ([[0.0]], r"shape \(m, 2\)"),
        ({"y": X}, r"mixtures, \['x'\]; got \['y'\]"),
        (np.empty((0, 2)), "at least one row"),
    ):
        with pytest.raises(ValueError, match=message):
            predictor.log_density(values)
    with pytest.raises(TypeError, match="real numbers"):
        predictor.log_density([["a", "b"]])
    with pytest.raises(ValueError, match="feature must be given"):
        predictor.conditional_quantiles({})
    with pytest.raises(ValueError, match="must name one feature"):
        predictor.conditional_quantiles({"x": X}, feature=7)
    with pytest.raises(ValueError, match="between 0 and 1"):
        predictor.conditional_quantiles({"x": X}, [1.0], feature=0)
    with pytest.raises(ValueError, match="made of a table"):
        predictor.read(pd.DataFrame(X))


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pymc", "pytensor", "numba", "arviz", "xarray", "pymc_nrm"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
"""


def test_nothing_of_pymc_is_imported(path):
    code = f"""{BLOCKED}
from pymc_nrm_predictor import Predictor
predictor = Predictor({str(path)!r})
before = set(sys.modules)
print(predictor.cluster_probabilities([[0.1, 0.0], [5.0, None]]).labels.tolist())
assert not {{"pandas", "matplotlib"}} & set(sys.modules)
table = Predictor({str(DATA / "format_1_table.nrm")!r})
print(table.columns["categorical"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[0, 1]", "('colour', 'rating')"]


@pytest.mark.parametrize("name", ["families", "table", "regression"])
def test_kept_files_are_read(name):
    """Files that were written by the version that introduced the format, and their predictions then."""
    predictor = Predictor(DATA / f"format_1_{name}.nrm")
    kept = json.loads((DATA / f"format_1_{name}.json").read_text())
    new = kept["new"]
    new = (
        pd.DataFrame(new) if name != "families" else {key: np.array(rows, dtype="float64") for key, rows in new.items()}
    )
    np.testing.assert_allclose(predictor.log_density(new), kept["log_density"], rtol=1e-10)
    np.testing.assert_allclose(predictor.cluster_probabilities(new).probability, kept["probability"], atol=1e-10)
    for feature, expected in kept["quantile"].items():
        feature = None if feature == "null" else feature  # the target of a regression
        found = predictor.conditional_quantiles(new, [0.1, 0.5], feature=feature, average=True)
        np.testing.assert_allclose(found.quantile, expected, rtol=1e-9)


def test_readings_of_columns_are_kept():
    """Dates from the first one, units with what had another one, levels in their order, and text of a family."""
    df = table().assign(weight=["7 lb 3", *[f"{k} kg" for k in range(50, 73)]])
    for reading in read_columns(df, KINDS):
        [kept] = recorded_columns([json.loads(json.dumps(description_of(reading)))])
        for column in (df[reading.name], df[reading.name].iloc[::-1]):
            if reading.name != "weight" or column is df[reading.name]:
                np.testing.assert_array_equal(kept.values(column), reading.values(column))
    columns = recorded_columns([json.loads(json.dumps(description_of(LevelColumn("answer", ("yes", "no")))))])
    np.testing.assert_array_equal(coded("X", [["no"], ["yes"], [None]], columns), [[1.0], [0.0], [np.nan]])


def test_entries_that_mean_missing_values_are_kept(recwarn):
    """They are missing in new rows without a word; other texts warn, and infinite numbers are errors, as in arrays."""
    df = pd.DataFrame({"length": ["?", *map(str, np.linspace(0.0, 1.0, 22)), "?"]})
    [reading] = read_columns(df, {"length": "numeric"})
    about = json.loads(json.dumps(description_of(reading)))
    assert about["lost"] == ["?"]
    [kept] = recorded_columns([about])
    np.testing.assert_array_equal(kept.values(pd.Series(["?", "2"])), [np.nan, 2.0])
    assert not recwarn.list
    predictor = Predictor(DATA / "format_1_table.nrm")
    new = pd.DataFrame(json.loads((DATA / "format_1_table.json").read_text())["new"])
    with pytest.warns(UserWarning, match=r"missing, in column 'length': '5,5' \(1 row\)") as caught:
        read = predictor.read(new.assign(length=["5,5", *["6.1"] * (len(new) - 1)]))
    assert np.isnan(read["numeric"][0, predictor.columns["numeric"].index("length")])
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(ValueError, match="column 'length' must be finite or missing; got inf"):
        predictor.log_density(new.assign(length=np.inf))


def test_the_reader_imports_nothing_of_the_package():
    for file in (ROOT / "pymc_nrm_predictor").rglob("*.py"):
        lines = [line.split() for line in file.read_text().splitlines()]
        modules = {words[1].partition(".")[0] for words in lines if words and words[0] in ("import", "from")}
        assert not modules & {"pymc_nrm", "pymc", "pytensor", "numba", "xarray", "arviz"}, file
