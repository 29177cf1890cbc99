"""Spark properties that the pipelines depend on cannot be changed."""

import pytest
from pydantic import ValidationError

from ingest.config.options import SparkOptions
from ingest.config.spark_conf import REQUIRED


@pytest.mark.parametrize("name", REQUIRED)
def test_property_that_the_pipelines_need_cannot_be_changed(name):
    with pytest.raises(ValidationError) as raised:
        SparkOptions.model_validate({"conf": {name: "other"}})
    (error,) = raised.value.errors()
    assert error["msg"] == f'spark.conf may not set "{name}" to "other"'
    assert error["ctx"]["hint"] == f'remove it: the pipelines need "{REQUIRED[name]}"'


def test_other_properties_and_the_needed_values_are_accepted():
    conf = {**REQUIRED, "spark.other": "1"}
    assert SparkOptions.model_validate({"conf": conf}).conf == conf
