// Draws a Vega-Lite chart as SVG, without a browser.
import { parse, View } from 'vega'
import { compile } from 'vega-lite'
import { answer } from './serve.mjs'

answer({
  ready: () => true,
  draw: (chart) => new View(parse(compile(chart).spec), { renderer: 'none' }).toSVG(),
})
