"""Predicts the times of steps on another machine: results/predict run.json --on machine.json"""
