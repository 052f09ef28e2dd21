"""SDF, as Gazebo and Drake have it: reading."""
