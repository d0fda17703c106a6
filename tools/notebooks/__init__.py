"""Lectures and problem sets, built from their texts."""
