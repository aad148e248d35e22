"""Predicts how training scales over ranks and networks: results/predict --ranks"""
