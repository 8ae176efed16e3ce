// One run of the program in a worker. The page sends one message at a time:
//   {module}                  the compiled WebAssembly; first
//   {give: [{name, bytes}]}   files that commands read
//   {run: [words]}            `run` and its arguments; answers {frame} from time to time, then {figures}
//   {write: name, words}      a file of the run; answers {bytes, figures}
//   {command: name, words}    any command that writes the file; answers {bytes}
//   {divide: sites, width, height}   answers {triangles, start, corners}
// Each is answered by {done, ...}, or {error} with a sentence.
const names = ["width", "height", "count", "sites", "radius", "iterations", "ratio", "minAngle", "meanAngle", "degree6",
  "ink", "pictureInk", "correlation", "length", "pens", "penStart", "pen", "penSize"];
let c; // the module

function text(string) { // never freed: the run borrows its arguments
  const bytes = new TextEncoder().encode(string + "\0");
  const at = c._malloc(bytes.length);
  c.HEAPU8.set(bytes, at);
  return at;
}

function words(list) {
  const at = c._malloc(4 * (list.length + 1));
  c.HEAPU32.set([...list.map(text), 0], at >> 2);
  return [list.length, at];
}

function give({name, bytes}) {
  const at = c._malloc(bytes.length);
  c.HEAPU8.set(bytes, at);
  c._web_give(text(name), at, bytes.length);
}

const doubles = (at, count) => c.HEAPF64.slice(at >> 3, (at >> 3) + count);
const integers = (at, count) => c.HEAP32.slice(at >> 2, (at >> 2) + count);
const longs = (at, count) => integers(at, 2 * count).filter((_, k) => k % 2 === 0);

function figures() {
  const all = doubles(c._web_figures(), names.length);
  const f = Object.fromEntries(names.map((name, k) => [name, all[k]]));
  f.sites = doubles(f.sites, 2 * f.count);
  f.radius = f.radius > 0 ? doubles(f.radius, f.count) : null;
  f.inks = f.pens > 0 ? {start: longs(f.penStart, f.pens + 1), colours: Array.from({length: f.pens}, (_, k) => {
    const at = f.pen + k * f.penSize + f.penSize - 3;
    return `rgb(${c.HEAPU8.slice(at, at + 3)})`;
  })} : null;
  return f;
}

// Drawing takes time from the run where processors are few.
let next = 0;
function show(at, count, iteration, ratio, offset) {
  const now = performance.now();
  const frame = {count, iteration, ratio, offset};
  if (now >= next) {
    frame.sites = doubles(at, 2 * count);
    frame.inks = figures().inks;
    next = now + Math.max(60, count / 100);
  }
  postMessage({frame});
}

function check(code) {
  if (code !== 0) throw new Error(c.UTF8ToString(c._web_message()) || `The command failed with code ${code}.`);
}

function written() {
  const at = c._web_bytes();
  return at ? c.HEAPU8.slice(at, at + c._web_size()) : null;
}

async function answer(m) {
  if (m.module) {
    c = await create({
      show,
      printErr: () => {},
      instantiateWasm: (imports, use) => { WebAssembly.instantiate(m.module, imports).then(use); return {}; },
    });
    return {};
  }
  if (m.give) m.give.forEach(give);
  if (m.run) {
    check(c._web_run(...words(m.run)));
    return {figures: figures()};
  }
  if (m.write) {
    check(c._web_write(text(m.write), ...words(m.words)));
    return {bytes: written(), figures: figures()};
  }
  if (m.command) {
    check(c._web_command(text(m.command), ...words(m.words)));
    return {bytes: written()};
  }
  if (m.divide) {
    const at = c._malloc(8 * m.divide.length), count = m.divide.length / 2;
    c.HEAPF64.set(m.divide, at >> 3);
    const code = c._web_divide(at, count, m.width, m.height);
    c._free(at);
    check(code);
    const start = longs(c._web_cell_start(), count + 1);
    return {triangles: integers(c._web_triangles(), 3 * c._web_triangle_count()), start,
      corners: doubles(c._web_cell_corners(), 2 * start[count])};
  }
  return {};
}

let queue = Promise.resolve();
onmessage = ({data}) => {
  queue = queue.then(() => answer(data)).then(
    (result) => postMessage({done: true, ...result}),
    (error) => {
      console.error(error);
      const isMemory = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
      postMessage({error: isMemory ? "There is not enough memory for this picture and so many dots."
        : String(error.message ?? error)});
    });
};
