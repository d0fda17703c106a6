"""Every sentence that the checks say themselves; an edition in another language replaces it.

What belongs to one question stands in that question's table.
"""

TEXT = {
    # How a verdict opens.
    "right": "Right",
    "partly": "Partly right",
    "wrong": "Not yet",
    "missing": "No answer yet",
    "guess": "Noted",
    "points": "{earned:g} of {points:g} points.",
    "warned": "(It also printed: {warning})",
    # Nothing there.
    "fill in": "Replace the ... with your answer and run it again.",
    "none": "That is None: nothing was assigned, or a function ended without return.",
    "sorted none": "That is None. list.sort() sorts in place and returns None; sorted(...) returns "
    "the list.",
    # What cannot be read.
    "unreadable": "Your answer could not be read. It raised {error}.",
    "not a number": "That is {kind}, not a number.",
    "several": "That is {kind} of {count} values; one number is asked for.",
    "function": "a function (call it, with parentheses)",
    "of type": "a value of type {name}",
    "boolean": "a yes or no",
    "object": "That is {kind}; it has {how}. Give one number; the question asks for {unit}.",
    "no number": "No number could be read from the text {text}: {why}.",
    "no digits": "it does not begin with one",
    "wrong unit": "{unit} cannot be the unit here; the question asks for {wanted}.",
    "wrong label": "The digits are right, the unit written beside them is not. The question asks "
    "for {wanted}.",
    "nan": "That is nan, not a number: somewhere 0/0 or inf - inf was computed.",
    "caret": "In Python ^ is a bitwise operation, not a power: {value} is what it gives. Write "
    "10**11, or 1e11.",
    "whole tokens": "The first whole number of tokens.",
    "one digit": "To one digit that agrees. Give two or more.",
    # What went wrong, whatever the question.
    "retry": "Not a slip this check knows. Write down what you divided by what, with units.",
    "retry call": "Work the first case that differs out by hand and compare: {call}.",
    "negative": "A negative value has no meaning here. Check the order of a subtraction.",
    "zero": "Zero cannot be. Was a division rounded down by //, or a factor left out?",
    "infinite": "That is infinite: somewhere a division by zero, or a unit far off.",
    "either": "Several slips give this value. Either: {first} Or: {second}",
    "or": " Or: ",
    "or else": " or ",
    "besides": "{first} Besides, {second}",
    "in unit": "The value is right as {other}, but the question asks for {unit}.",
    "besides in unit": "it comes out as {other}; the question asks for {unit}.",
    "prefix": "10^{power} times too {way}. A prefix lost on the way does that, or a count left out "
    "or taken in once too often, or a / b * 10**n without parentheses around the divisor.",
    "besides prefix": "it is 10^{power} times too {way}.",
    "ten": "{factor} times too {way}: count the zeros.",
    "twice": "Too {way} by a factor of 2.{where}",
    "where 2": " A 2 may hide in {places}.",
    "besides twice": "it is a factor of 2 too {way}.",
    "eight": "Too {way} by a factor of 8, the bits of a byte.",
    "besides eight": "it is a factor of 8 too {way}, the bits of a byte.",
    "an input": "That is {what} itself, one of the figures to compute with.",
    "across": "That multiplies where a division is due, or divides where a multiplication is: look "
    "at {what}.",
    "other chip": "That comes out with figures of the {other}; the question is about the {chip}.",
    "parentheses": "A factor of 10^{power} too {way}: a / b * 10**{half} multiplies by the power. "
    "Write the divisor in parentheses, or as one number such as 9.9e14.",
    "inverted": "Upside down: that is 1 over the value asked for.",
    "besides inverted": "it is upside down.",
    "share": "That is the rest, 1 minus the share asked for.",
    # Functions and formulas.
    "not a function": "That is {kind}. Keep the def line and fill in its body.",
    "raised": "Your function raised {error} for {call}.",
    "no return": "For {call} your function returned None. End every branch with return and a "
    "result; print only shows one.",
    "result": "For {call} your function returned no number. {reason}",
    "plain values": "That is {kind}. Return numbers, separated by commas where there are several.",
    "length": "For {call} your function returned {found} value(s), not {wanted}.",
    "rounded": "These are rounded, which small ones do not survive. Return them as they are.",
    "ignores": "The result is the same in every case: does it use what it is given?",
    "first off": "It first shows for {call}.",
    "elsewhere": "In the other cases it is right.",
    "known cases": "It is right for the arguments that the check uses at home, and not for others.",
    "part right": "{names}: right.",
    "part": "{name}: {message}",
    "swapped": "The values are right, in the wrong order: {names}.",
    "not a formula": "That is {kind}. Give a formula of {symbols}: text, a SymPy expression or a "
    "function.",
    "formula": "The formula could not be read: {why}.",
    "divisor": "a / b(c + d) divides by b and then multiplies: put the whole divisor in "
    "parentheses.",
    "no symbol": "That is a number. A formula of {symbols} is asked for.",
    # Variants, progress, review.
    "who are you": "Your figures depend on your id: write it into the cell that says me = ..., and "
    "run that again.",
    "another variant": "It is right for another variant of this question. Compute with the figures "
    "that stand here.",
    "progress": "{answered} of {questions} answered, {right} right; {earned:g} of {points:g} "
    "points so far.",
    "unread": "What a person reads comes on top.",
    "time left": "Time left to hand in: {days} d {hours} h.",
    "time out": "The time to hand in has been over for {days} d {hours} h.",
    "not kept": "(Not kept for review: {error})",
    "nothing due": "Nothing is due for review.",
    "next due": "The next question comes back on {day}.",
    "review options": "One of: {options}.",
    "review again": "It comes back on {day}.",
    "review done": "That was its last time.",
    "review lecture": "Lecture {number} is about it.",
    # Puzzles.
    "puzzle raised": "your function raised {kind}: {error}.",
    "too long": "your function takes more than {most:,} operations, or does not end.",
    "larger blocks": "Take larger blocks.",
    "useful sends": "Does every step send a piece that somebody lacks?",
    "malformed": "operation {place} could not be done again. {why}",
    "no programs": "No record of what your function did was found.",
    "nothing done": "Your function did nothing with what it is given. Fill in its body.",
    "in case": "For {sizes}: {message}",
    "least": "{times} times the least bytes{over}.",
    "at most": "Never more than {times} times the least bytes{over}.",
    "at least": "The least bytes there can be{over}.",
    "fast memory": "{room} of fast memory",
    "loaded": "{name} crosses {times}",
    "once": "once",
    "so many times": "{count} times",
    "over the link": " over the busiest link",
    "chips": "chips",
    "pieces": "It carries {busiest:g} pieces, in {steps} steps.",
    "lacks": "chip {chip} still lacks the pieces {pieces}.",
    # Several numbers, choices, orders.
    "follows": "It follows from your other answers: put those right first.",
    "unknown name": "{name} is none of these: {options}.",
    "parts": "Give {count} values, in this order: {names}.",
    "unlisted": "{answer} is not among the options: {options}.",
    "both": "That names {found}. Give one of the options alone: {options}.",
    "not a list": "Give a list of names, in order.",
    "no order": "A {kind} has no order. Give a list.",
    "wrong names": "The list must hold each of these once: {options}.",
    "wrong letters": "Give each letter once: {options}.",
    "neighbours": "Neighbours have changed places; nothing else is wrong. Compare them closely.",
    "out of place": "Number {place} is the first out of place.",
    # Guesses and reveals.
    "no guess": "A guess is a number above 0.",
    "guess close": "That is it, or nearly. Run the next cell.",
    "guess near": "A little too {way}. Run the next cell.",
    "guess far": "Too {way}. Run the next cell.",
    "guess unit": "Far too {way}, by hundreds of times or more. Is your guess in {unit}?",
    "guess first": "Put a number in place of the ... and run the cell. A wrong guess made now "
    "teaches more than the right answer read later.",
    "revealed": "It is {answer}.",
    "you said": "You said {guess}; it is {answer}.",
    # Hints, from the second wrong try on.
    "hint what": "Hint: what matters here: {inputs}.",
    "hint how": "Hint: {how}",
    "large": "large",
    "small": "small",
    "and": " and ",
}


def listed(items):
    """Items in a sentence: "a, b and c"."""
    items = list(items)
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + TEXT["and"] + items[-1]


def capital(text):
    """The text with a capital first letter, as a sentence begins."""
    return text[:1].upper() + text[1:]


def way(ratio):
    """Which way off an answer is that is ``ratio`` times the right one."""
    return TEXT["large" if ratio > 1 else "small"]
