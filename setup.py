"""Maps the packages of the distribution to their source roots; everything else is in setup.cfg."""

from setuptools import find_packages, setup

SERVER_PACKAGES = find_packages(include=["conductor_py", "conductor_py.*"])
WORKER_PACKAGES = find_packages("workers")

setup(
    packages=SERVER_PACKAGES + WORKER_PACKAGES,
    package_dir={"conductor_workers": "workers/conductor_workers"},
)
