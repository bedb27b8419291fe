"""Cleaning by key, for topics with `cleanup.policy=compact`: of each key the last record stays.

plan     which part of a stream is cleaned next; pure
tasks    what travels to the workers, and what they answer
filter   what a worker does: which rows stay, and the file of them
rounds   one go at one topic, from the plan to table and index
"""
