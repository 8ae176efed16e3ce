"""Limits: of time, of the threads' waiting, of the number of sites."""

import os
import subprocess

import pytest

from conftest import PROGRAM


def openmp_settings(**chosen):
    """The settings that the OpenMP runtime shows; those of the program's last start."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")}
    environment.update(chosen, OMP_DISPLAY_ENV="verbose", KMP_SETTINGS="1")
    done = subprocess.run([PROGRAM, "info"], env=environment, capture_output=True, check=True)
    shown = (done.stdout + done.stderr).decode()
    settings = {}
    for line in shown.splitlines():
        name, equals, value = line.replace("[host] ", "").strip().partition("=")
        if equals:
            settings[name.strip()] = value.strip().strip("'")
    return settings


def test_threads_that_wait_soon_sleep():
    settings = openmp_settings()
    if "GOMP_SPINCOUNT" in settings:
        assert settings["GOMP_SPINCOUNT"] == "1000"
    else:
        assert settings["KMP_BLOCKTIME"].startswith("0")


@pytest.mark.parametrize("name, value", [("OMP_WAIT_POLICY", "ACTIVE"), ("GOMP_SPINCOUNT", "7")])
def test_the_users_choice_of_waiting_stands(name, value):
    settings = openmp_settings(**{name: value})
    if "GOMP_SPINCOUNT" not in settings:
        pytest.skip("not libgomp")
    assert settings[name] == value
    assert settings["GOMP_SPINCOUNT"] != "1000"
