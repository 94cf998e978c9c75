// A scatter plot on a canvas. Marks are drawn once per colour and shape, and their pixels copied to each point: the
// canvas' own drawImage is slower, above all where the browser draws canvases with WebGL but has no GPU.
const RING = 0, DISC = 1, CROSS = 2;
const MOST_NAMES = 60;

class Scatter {
  // handlers: select(place or -1), hover(place or -1, left, top), view(window in data units that was moved to:
  // {x, y, width, height} with the middle, or null if it fits the points), and, if points can be selected by lasso,
  // lasso(polygon in data units, or null)
  constructor(canvas, handlers) {
    Object.assign(this, { canvas, handlers, points: null, view: null, lassoing: false, chosen: -1, hovered: -1,
      path: [], lasso: null });
    this.context = canvas.getContext("2d");
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) { // paper is always light
      matchMedia(query).addEventListener("change", () => {
        this.restyle();
        if (this.points) this.paint(); // there are no more frames before the page is printed
      });
    }
  }

  // points: {x, y: Float32Array with NaN, shown: Uint8Array, colour, shape: Uint8Array, colours: CSS colours,
  // labels: [x, y] or null, equal: whether both axes have one scale, names: of the points, or undefined}
  show(points) {
    this.points = points;
    this.fitted = this.fit();
    this.restyle();
  }

  restyle() {
    const style = getComputedStyle(document.documentElement), ratio = devicePixelRatio || 1;
    this.ink = style.getPropertyValue("--soft");
    this.accent = style.getPropertyValue("--link");
    if (!this.points) return;
    const few = this.points.x.length <= 5000;
    this.size = (few ? 5 : 3) * ratio;
    this.marks = this.points.colours.map((colour) => [RING, DISC, CROSS].map((shape) =>
      stampOf(drawMark(colourOf(colour), shape, this.size, ratio))));
    this.draw();
  }

  resize() {
    const ratio = devicePixelRatio || 1, { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = clientWidth * ratio;
    this.canvas.height = clientHeight * ratio;
    this.draw();
  }

  // The window of data units that fits all points, shown or not, so that the map does not move with the filters.
  fit() {
    const range = (values) => {
      let low = Infinity, high = -Infinity;
      for (const value of values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
      return low <= high ? [low, high] : [0, 1];
    };
    const [left, right] = range(this.points.x), [bottom, top] = range(this.points.y);
    return { x: (left + right) / 2, y: (bottom + top) / 2, width: (right - left || 1) * 1.08,
      height: (top - bottom || 1) * 1.08 };
  }

  reset() {
    if (!this.points) return;
    this.view = null;
    this.handlers.view(null);
    this.draw();
  }

  // The room of the labels of the axes: [left, bottom].
  margins() {
    const ratio = devicePixelRatio || 1;
    return this.points.labels ? [58 * ratio, 36 * ratio] : [0, 0];
  }

  scales() {
    const view = this.view ?? this.fitted, [margin, below] = this.margins();
    const width = this.canvas.width - margin, height = this.canvas.height - below;
    let across = width / view.width, up = height / view.height;
    if (this.points.equal) across = up = Math.min(across, up);
    return { across, up, left: margin + width / 2 - view.x * across, bottom: height / 2 + view.y * up };
  }

  draw() {
    if (this.frame || !this.points) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  paint() {
    const { context, canvas: { width, height }, points, marks } = this, { across, up, left, bottom } = this.scales();
    if (!width || !height) return;
    const image = context.createImageData(width, height), { data } = image;
    const { x, y, shown, colour, shape } = points, { edge } = marks[0][0];
    for (let place = 0; place < x.length; place++) {
      if (!shown[place]) continue;
      const h = Math.round(x[place] * across + left - edge / 2), v = Math.round(bottom - y[place] * up - edge / 2);
      if (h > -edge && v > -edge && h < width && v < height) stamp(data, width, height, marks[colour[place]][shape[place]], h, v);
    }
    context.putImageData(image, 0, 0);
    for (const place of [this.hovered, this.chosen]) if (place >= 0) this.halo(place);
    if (points.names && x.length <= MOST_NAMES) this.names();
    this.outline();
    if (points.labels) this.axes();
  }

  // The names beside the points; one that would cover another is left out.
  names() {
    const { context, points } = this, { across, up, left, bottom } = this.scales(), ratio = devicePixelRatio || 1;
    const covered = [], tall = 13 * ratio;
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.fillStyle = this.ink;
    context.textAlign = "left";
    points.names.forEach((name, place) => {
      if (!points.shown[place]) return;
      const wide = context.measureText(name).width, far = this.size * 2.5;
      const h = points.x[place] * across + left, v = bottom - points.y[place] * up;
      const start = h + far + wide < this.canvas.width ? h + far : h - far - wide;
      const overlaps = ([l, t, w]) => l < start + wide && start < l + w && Math.abs(t - v) < tall;
      if (covered.some(overlaps)) return;
      covered.push([start, v, wide]);
      context.fillText(name, start, v + 4 * ratio);
    });
  }

  halo(place) {
    const { across, up, left, bottom } = this.scales(), { context } = this;
    context.beginPath();
    context.arc(this.points.x[place] * across + left, bottom - this.points.y[place] * up, this.size * 1.6, 0, 7);
    context.strokeStyle = this.accent;
    context.lineWidth = 2 * (devicePixelRatio || 1);
    context.stroke();
  }

  outline() {
    const polygon = this.path.length ? this.path : this.lasso;
    if (!polygon) return;
    const { across, up, left, bottom } = this.scales(), { context } = this;
    context.beginPath();
    for (const [x, y] of polygon) context.lineTo(x * across + left, bottom - y * up);
    context.closePath();
    context.strokeStyle = this.accent;
    context.lineWidth = devicePixelRatio || 1;
    context.stroke();
  }

  axes() {
    const { context, canvas, points } = this, ratio = devicePixelRatio || 1;
    const { across, up, left, bottom } = this.scales(), [margin, below] = this.margins(), low = canvas.height - below;
    context.clearRect(0, 0, margin, canvas.height);
    context.clearRect(0, low, canvas.width, below);
    context.fillStyle = context.strokeStyle = this.ink;
    context.lineWidth = ratio;
    context.strokeRect(margin, -ratio, canvas.width, low + ratio);
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.textAlign = "center";
    for (const [value, label] of ticks((margin - left) / across, (canvas.width - left) / across)) {
      context.fillText(label, value * across + left, low + 14 * ratio);
    }
    context.fillText(points.labels[0], (margin + canvas.width) / 2, canvas.height - 6 * ratio);
    context.textAlign = "right";
    for (const [value, label] of ticks((bottom - low) / up, bottom / up)) {
      context.fillText(label, margin - 4 * ratio, bottom - value * up + 4 * ratio);
    }
    context.save();
    context.translate(12 * ratio, low / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(points.labels[1], 0, 0);
    context.restore();
  }

  zoom(factor, h = this.canvas.width / 2, v = this.canvas.height / 2) {
    if (!this.points) return;
    const { across, up, left, bottom } = this.scales(), view = this.view ?? this.fitted;
    const x = (h - left) / across, y = (bottom - v) / up;
    this.look({ x: x + (view.x - x) / factor, y: y + (view.y - y) / factor, width: view.width / factor,
      height: view.height / factor });
  }

  move(h, v) {
    if (!this.points) return;
    const { across, up } = this.scales(), view = this.view ?? this.fitted;
    this.look({ ...view, x: view.x - h / across, y: view.y + v / up });
  }

  // Look at a window; its middle stays among the points, and its size within what numbers can tell apart.
  look({ x, y, width, height }) {
    const { fitted } = this, clamp = (value, low, high) => Math.min(high, Math.max(low, value));
    const side = (size, whole) => clamp(size, whole * 1e-6, whole * 10);
    this.view = {
      x: clamp(x, fitted.x - fitted.width / 2, fitted.x + fitted.width / 2),
      y: clamp(y, fitted.y - fitted.height / 2, fitted.y + fitted.height / 2),
      width: side(width, fitted.width), height: side(height, fitted.height) };
    this.handlers.view(this.view);
    this.draw();
  }

  // Whether a drag draws a lasso. If not, a finger that moves up or down scrolls the page.
  setLassoing(on) {
    this.lassoing = on;
    this.canvas.style.touchAction = on ? "none" : "";
  }

  // The point that is nearest to a place, at most some pixels away; -1 if there is none.
  at(h, v, most = 8) {
    const { across, up, left, bottom } = this.scales(), { x, y, shown } = this.points;
    let best = -1, nearest = (most * (devicePixelRatio || 1)) ** 2;
    for (let place = 0; place < x.length; place++) {
      if (!shown[place]) continue;
      const distance = (x[place] * across + left - h) ** 2 + (bottom - y[place] * up - v) ** 2;
      if (distance < nearest) { nearest = distance; best = place; }
    }
    return best;
  }

  listen() {
    const { canvas, handlers } = this, ratio = () => devicePixelRatio || 1, fingers = new Map();
    let moved = false;
    const position = (event) => [event.offsetX * ratio(), event.offsetY * ratio()];
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, position(event));
      moved = false;
      this.path = [];
      this.drawing = handlers.lasso && fingers.size === 1 && (this.lassoing || event.shiftKey);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.points) return;
      const [h, v] = position(event), before = fingers.get(event.pointerId);
      if (!before) return this.hover(h, v, event);
      const [across, down] = [Math.abs(h - before[0]), Math.abs(v - before[1])];
      if (Math.hypot(across, down) < 3 * ratio() && !moved) return undefined;
      const scrolls = event.pointerType === "touch" && fingers.size === 1 && !this.drawing && down >= across;
      if (scrolls && !moved) return undefined; // until the browser takes the finger over
      moved = true;
      if (this.drawing) {
        const { across, up, left, bottom } = this.scales();
        this.path.push([(h - left) / across, (bottom - v) / up]);
        this.draw();
      } else if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const apart = (from) => Math.hypot(from[0] - other[0], from[1] - other[1]) || 1;
        this.zoom(apart([h, v]) / apart(before), other[0], other[1]);
      } else {
        this.move(h - before[0], v - before[1]);
      }
      fingers.set(event.pointerId, [h, v]);
      return undefined;
    });
    const up = (event) => {
      if (!fingers.delete(event.pointerId) || !this.points) return;
      if (this.drawing && this.path.length > 2) handlers.lasso(this.path);
      else if (!moved && event.type === "pointerup") {
        handlers.select(this.at(...position(event), event.pointerType === "touch" ? 24 : 8)); // a finger is wide
      }
      this.path = [];
      this.draw();
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.hover(-1e9, -1e9));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
      event.preventDefault();
      this.zoom(2 ** (-event.deltaY / 300), ...position(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 40 * ratio();
      const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (moves[event.key]) this.move(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.reset();
      else if (event.key === "Enter" && this.points) {
        const [margin, below] = this.margins();
        handlers.select(this.at((margin + canvas.width) / 2, (canvas.height - below) / 2, Infinity));
      } else if (event.key === "Escape" && handlers.lasso) handlers.lasso(null);
      else return;
      event.preventDefault();
    });
  }

  hover(h, v, event = null) {
    const place = this.points ? this.at(h, v) : -1;
    if (place !== this.hovered) {
      this.hovered = place;
      this.draw();
    }
    this.handlers.hover(place, event?.offsetX ?? 0, event?.offsetY ?? 0);
  }
}

// A colour may be the name of a CSS variable, which depends on the colour scheme.
const colourOf = (colour) => (colour.startsWith("--")
  ? getComputedStyle(document.documentElement).getPropertyValue(colour) : colour);

function drawMark(colour, shape, size, ratio) {
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
  const edge = Math.ceil(size * 2 + 2 * ratio), middle = edge / 2;
  canvas.width = canvas.height = edge;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.6 * ratio;
  context.beginPath();
  if (shape === CROSS) {
    for (const [h, v] of [[-1, -1], [-1, 1]]) {
      context.moveTo(middle + h * size * .7, middle + v * size * .7);
      context.lineTo(middle - h * size * .7, middle - v * size * .7);
    }
    context.stroke();
  } else {
    context.arc(middle, middle, shape === RING ? size * .75 : size * .8, 0, 7);
    if (shape === RING) context.stroke(); else { context.globalAlpha = .8; context.fill(); }
  }
  return canvas;
}

// The pixels of a mark that are not empty: their places and colours (red, green, blue, opacity in [0, 1]).
function stampOf(mark) {
  const edge = mark.width, { data } = mark.getContext("2d").getImageData(0, 0, edge, edge);
  const places = [...Array(edge * edge).keys()].filter((place) => data[4 * place + 3]);
  const of = (channel) => places.map((place) => data[4 * place + channel]);
  return { edge, across: Int32Array.from(places, (place) => place % edge), down: Int32Array.from(places, (place) => Math.floor(place / edge)),
    red: of(0), green: of(1), blue: of(2), opacity: of(3).map((value) => value / 255) };
}

// Draw a mark over the pixels of an image.
function stamp(data, width, height, mark, h, v) {
  const { across, down, red, green, blue, opacity } = mark;
  for (let pixel = 0; pixel < across.length; pixel++) {
    const column = h + across[pixel], row = v + down[pixel];
    if (column < 0 || row < 0 || column >= width || row >= height) continue;
    const place = 4 * (row * width + column), over = opacity[pixel], under = (data[place + 3] / 255) * (1 - over);
    const sum = over + under;
    data[place] = (red[pixel] * over + data[place] * under) / sum;
    data[place + 1] = (green[pixel] * over + data[place + 1] * under) / sum;
    data[place + 2] = (blue[pixel] * over + data[place + 2] * under) / sum;
    data[place + 3] = 255 * sum;
  }
}

// Round values within a range: [value, label].
function ticks(low, high) {
  const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough), first = Math.ceil(low / step);
  const decimals = Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return Array.from({ length: 8 }, (_, i) => (first + i) * step).filter((value) => value < high).map((value) =>
    [value, decimals > 6 || high > 1e6 ? value.toExponential(1) : value.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1")]);
}

function inPolygon(x, y, polygon) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [a, b] = polygon[i], [c, d] = polygon[j];
    if (b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a) inside = !inside;
  }
  return inside;
}
