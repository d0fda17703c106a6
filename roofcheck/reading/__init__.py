"""Read numbers, formulas and units from what students write."""
