"""Functional mock-up units (FMI 2 and 3): blocks that simulate an arm or compute quantities."""

from armlet.fmu.archive import check_replaceable, compiler, to_fmu, unit_files, write_unit
from armlet.fmu.block import function_block, plant_block
