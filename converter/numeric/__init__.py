"""Compute axes, quantisation, poses, adjacency and bounds, independent of any file format."""
