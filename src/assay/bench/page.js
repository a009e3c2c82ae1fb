"use strict";
// Shows the tooltip of a point in a plot on hover, on touch, or with the arrow keys.
// The texts come from Python in `data-stops`: [thousandths from the left, from the top or -1, text].
(() => {
  const tip = document.getElementById("tip");
  let cross = null;

  function hide() {
    tip.hidden = true;
    if (cross) cross.remove();
    cross = null;
  }

  function show(plot, stop) {
    hide();
    const box = plot.getBoundingClientRect();
    const left = box.left + (box.width * stop[0]) / 1000;
    const top = box.top + (stop[1] < 0 ? 0 : (box.height * stop[1]) / 1000);
    cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const at = stop[0] / 10 + "%";
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", 0], ["y2", "100%"], ["class", "cross"]]) {
      cross.setAttribute(name, value);
    }
    plot.append(cross);
    tip.textContent = stop[2];
    tip.hidden = false;
    const size = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const beside = left + 14 + size.width > wide ? left - 14 - size.width : left + 14;
    tip.style.left = Math.max(4, Math.min(beside, wide - size.width - 4)) + "px";
    tip.style.top = Math.max(4, top - size.height - 8) + "px";
  }

  function nearest(plot, stops, event) {
    const box = plot.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    let best = 0;
    let least = Infinity;
    stops.forEach((stop, place) => {
      const across = (box.width * stop[0]) / 1000 - x;
      const up = stop[1] < 0 ? 0 : (box.height * stop[1]) / 1000 - y;
      const far = across * across + up * up;
      if (far < least) [least, best] = [far, place];
    });
    return best;
  }

  for (const plot of document.querySelectorAll("svg[data-stops]")) {
    const stops = JSON.parse(plot.dataset.stops);
    let here = 0;
    const point = (event) => {
      here = nearest(plot, stops, event);
      show(plot, stops[here]);
    };
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      here = Math.max(0, Math.min(stops.length - 1, here + step));
      show(plot, stops[here]);
    });
  }
  addEventListener("scroll", hide, { passive: true });
})();
