"""Find what an edited file changes, compared with the stored one; edit areal maps."""
