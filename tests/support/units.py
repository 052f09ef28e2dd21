"""Functional mock-up units of FMI 3, driven through their C functions."""

import ctypes
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from armlet.fmu.archive import ENDINGS, this_platform

OK, ERROR = 0, 3
Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)


def unpacked(path, folder):
    """Unpack the files of a unit to a folder."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


def description(folder):
    return ET.parse(folder / "modelDescription.xml").getroot()


def library(folder):
    """Load the shared library of an unpacked unit."""
    name = description(folder).find("CoSimulation").get("modelIdentifier")
    ending = ENDINGS[this_platform().rpartition("-")[2]]
    return ctypes.CDLL(str(Path(folder, "binaries", this_platform(), f"{name}{ending}")))


class Instance:
    """An instance of an unpacked unit; `said` lists the messages that it logged."""

    def __init__(self, folder, token=None):
        self.library, root = library(folder), description(folder)
        self.references = {
            x.get("name"): int(x.get("valueReference")) for x in root.find("ModelVariables")
        }
        self.shapes = {
            x.get("name"): tuple(int(d.get("start")) for d in x.findall("Dimension"))
            for x in root.find("ModelVariables")
        }
        self.said = []
        self.log = Log(lambda environment, status, category, text: self.said.append(text.decode()))
        self.library.fmi3InstantiateCoSimulation.restype = ctypes.c_void_p
        self.pointer = ctypes.c_void_p(
            self.library.fmi3InstantiateCoSimulation(
                b"arm",
                (token or root.get("instantiationToken")).encode(),
                None,
                False,
                False,
                False,
                False,
                None,
                ctypes.c_size_t(0),
                None,
                self.log,
                None,
            )
        )

    def call(self, name, *arguments):
        return getattr(self.library, name)(self.pointer, *arguments)

    def start(self, time=0.0, **values):
        """Set variables, then enter and leave initialization mode."""
        found = [self.set(name, x) for name, x in values.items()]
        zero = ctypes.c_double(0)
        found.append(
            self.call(
                "fmi3EnterInitializationMode", False, zero, ctypes.c_double(time), False, zero
            )
        )
        found.append(self.call("fmi3ExitInitializationMode"))
        assert found == [OK] * len(found), self.said

    def set(self, name, values, reference=None):
        values = np.ascontiguousarray(values, dtype=float)
        reference = self.references[name] if reference is None else reference
        return self.call(
            "fmi3SetFloat64",
            ctypes.byref(ctypes.c_uint32(reference)),
            ctypes.c_size_t(1),
            values.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(values.size),
        )

    def status_and(self, name, size=None):
        """Read a variable; return the status of the C function, and the values."""
        found = np.zeros(self.shapes[name] if size is None else size)
        status = self.call(
            "fmi3GetFloat64",
            ctypes.byref(ctypes.c_uint32(self.references[name])),
            ctypes.c_size_t(1),
            found.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(found.size),
        )
        return status, found

    def get(self, name):
        status, found = self.status_and(name)
        assert status == OK, self.said
        return found

    def step(self, time, duration):
        flags = [ctypes.c_bool() for _ in range(3)]
        self.last = ctypes.c_double()
        return self.call(
            "fmi3DoStep",
            ctypes.c_double(time),
            ctypes.c_double(duration),
            True,
            *map(ctypes.byref, flags),
            ctypes.byref(self.last),
        )

    def free(self):
        self.call("fmi3FreeInstance")
