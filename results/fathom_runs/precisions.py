"""The formats of numbers, which names of rows have as `precision`."""

FP32 = "fp32"  # the default, with which the others are compared
ORDER = (FP32, "tf32", "bf16", "fp16", "fp8", "int8", "int8w", "q8_0", "int4w", "q4_0")


def place(precision):
    """The place in tables and figures. Formats of later versions are last."""
    return ORDER.index(precision) if precision in ORDER else len(ORDER)


def arithmetic(precision):
    """The format whose peak bounds the products: llama.cpp's forms multiply codes of 8 bits."""
    return {"int8w": FP32, "int4w": FP32, "q8_0": "int8", "q4_0": "int8"}.get(precision, precision)
