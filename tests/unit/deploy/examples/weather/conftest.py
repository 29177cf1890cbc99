"""The example's modules are beside its scripts; tests find them there."""

import tests.support.weather_example  # noqa: F401 - extends the import path
