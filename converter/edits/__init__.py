"""What an edited file changes, compared with the stored one."""
