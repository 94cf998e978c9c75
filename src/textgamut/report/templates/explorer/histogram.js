// A histogram that is brushed to select a range. The number inputs beside it do the same by keyboard.
const BINS = 30;

class Histogram {
  constructor(canvas, onBrush) {
    Object.assign(this, { canvas, onBrush, values: [], range: [null, null] });
    let from = null;
    const value = (event) => this.low + (event.offsetX / canvas.clientWidth) * (this.high - this.low);
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      from = value(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from === null || !this.values.length) return;
      const to = value(event);
      this.range = [Math.max(this.low, Math.min(from, to)), Math.min(this.high, Math.max(from, to))];
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const still = Math.abs(value(event) - from) < (this.high - this.low) / 100;
      from = null;
      this.onBrush(...(still ? [null, null] : this.range)); // a click clears the range
    });
    canvas.addEventListener("pointercancel", () => { from = null; });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // low, high: the range that is shown; null is an open end
  show(values, low, high) {
    this.values = values.filter((value) => value !== null);
    this.low = this.values.reduce((a, b) => Math.min(a, b), Infinity);
    this.high = this.values.reduce((a, b) => Math.max(a, b), -Infinity);
    this.range = [low, high];
    this.counts = new Array(BINS).fill(0);
    const width = (this.high - this.low) / BINS || 1;
    for (const value of this.values) this.counts[Math.min(BINS - 1, Math.floor((value - this.low) / width))]++;
    this.draw();
  }

  draw() {
    const { canvas, counts } = this, ratio = devicePixelRatio || 1, style = getComputedStyle(canvas);
    if (!counts || !canvas.clientWidth) return;
    const width = (canvas.width = canvas.clientWidth * ratio), height = (canvas.height = 70 * ratio);
    const context = canvas.getContext("2d"), most = Math.max(...counts), bin = (this.high - this.low) / BINS;
    counts.forEach((count, place) => {
      const start = this.low + place * bin;
      const [low, high] = this.range, chosen = start + bin > (low ?? -Infinity) && start < (high ?? Infinity);
      context.fillStyle = style.getPropertyValue(chosen ? "--link" : "--rule");
      const tall = (count / most) * height;
      context.fillRect((place * width) / BINS, height - tall, width / BINS - ratio, tall);
    });
  }
}
