"""Robot descriptions, as read from files: links, joints, checks, conversion to `RobotModel`."""

from armlet.description.assembly import assemble, describe
from armlet.description.description import Connection, Description, Link, Mesh, Solid, Tie
