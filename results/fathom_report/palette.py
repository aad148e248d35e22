"""What colours mean on every page: classes of op types, of memory, and lines."""

from fathom_report.run import MEMORY_CLASSES

# Fathom's classes A to G, then what is no op. Okabe and Ito's colours, the yellow darkened for white paper.
CLASS_COLOURS = {
    "matrix": "#0072B2",
    "convolution": "#D55E00",
    "elementwise": "#009E73",
    "reduction": "#CC79A7",
    "random": "#CDBB21",
    "optimization": "#E69F00",
    "data_movement": "#56B4E9",
    "framework": "#909090",
}
# What an op type is, where only op rows say so: their labels are the vendors'.
TYPES = {
    "matrix": "matmul batched_matmul lstm lstm_cell rnn attention sampled_softmax",
    "convolution": "conv2d",
    "elementwise": "relu clipped_relu sigmoid tanh add sub mul div exp sqrt square neg bias_add huber_loss",
    "reduction": "batch_norm local_response_norm max_pool avg_pool softmax softmax_cross_entropy ctc_loss sum arg_max",
    "random": "normal uniform log_uniform dropout",
    "optimization": "sgd momentum adam adagrad rmsprop clip_norm",
    "data_movement": "embedding gather concat copy transpose fill pad",
}
TYPE_CLASSES = {one: op_class for op_class, types in TYPES.items() for one in types.split()}
LETTERS = dict(zip(CLASS_COLOURS, "ABCDEFG"))
MEMORY_COLOURS = dict(
    zip(
        MEMORY_CLASSES,
        ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#909090"),
    )
)
# Lines that are told apart by their names: no meaning in the colour.
LINE_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#909090",
    "#A6761D",
)
FIRST, SECOND = "#0072B2", "#D55E00"  # where there are just two kinds


def op_class(name):
    """How a class is written."""
    return name.replace("_", " ")


def class_colour(name):
    return CLASS_COLOURS.get(name, CLASS_COLOURS["framework"])
