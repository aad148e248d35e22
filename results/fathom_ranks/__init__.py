"""Predicts how training scales over ranks and networks: results/rank_model.py"""
