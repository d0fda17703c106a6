// Makes an element with its attributes and children. Strings become text, never HTML.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== ""));
  return made;
}

// Wraps HTML from the course's server, which escapes everything that students write.
export function trusted(html, attributes = {}) {
  const made = element("div", attributes);
  made.innerHTML = html;
  return made;
}
