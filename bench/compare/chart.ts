import { Child } from '../support/child.js'
import type { Result } from './rounds.js'
import { peerAddress } from './server.js'

/** A bar of the chart. */
interface Bar {
  readonly name: string
  readonly whose: 'fastify-authn' | 'others' | 'by hand'
  readonly value: number
  readonly low: number
  readonly high: number
  readonly text: string
}

const colours = {
  'fastify-authn': '#1a7f5a',
  others: '#8a93a0',
  'by hand': '#c9a227',
}

/** @returns the results as an SVG */
export async function drawChart(results: readonly Result[], subtitle: string): Promise<string> {
  const isShown = ({ variant: { group, node } }: Result): boolean =>
    node === 24 && (group === 'bare' || group === 'peers')
  const renderer = await Child.start(peerAddress('chart'), {})
  const svg = await renderer.ask<string>('draw', chartOf(results.filter(isShown), subtitle))
  await renderer.end()
  return `${svg}\n`
}

function chartOf(results: readonly Result[], subtitle: string): object {
  return {
    background: 'white',
    padding: 16,
    title: {
      text: 'Protected routes in Node.js 24',
      subtitle,
      anchor: 'start',
      fontSize: 18,
      offset: 12,
    },
    config: {
      font: 'system-ui, sans-serif',
      view: { stroke: null },
      axis: { labelFontSize: 12, titleFontSize: 12, labelLimit: 0 },
    },
    vconcat: [panel('Requests per CPU second, share of a bare Fastify', results.map(bar), '.2f')],
  }
}

const whoseOf = ({ variant: { name } }: Result): Bar['whose'] =>
  name.startsWith('fastify-authn') ? 'fastify-authn' : / by hand/.test(name) ? 'by hand' : 'others'

function bar(result: Result): Bar {
  const { median, low, high } = result.ratio
  const name = result.variant.name.replace(/, Node \d+$/, '')
  return { name, whose: whoseOf(result), value: median, low, high, text: median.toFixed(2) }
}

/** Bars by length, with a line over the middle half of what was found. */
function panel(title: string, bars: readonly Bar[], format: string): object {
  const values = bars.toSorted((a, b) => b.value - a.value)
  const y = {
    field: 'name',
    type: 'nominal',
    sort: null,
    axis: { title: null, domain: false, ticks: false },
  }
  const most = Math.max(...values.map(({ high }) => high))
  const scale = { domain: [0, most * 1.12] }
  const colour = { domain: Object.keys(colours), range: Object.values(colours) }
  const at = (field: string): object => ({
    field,
    type: 'quantitative',
    scale,
    axis: { title: null, format, grid: true, gridColor: '#eceff2', tickCount: 6 },
  })
  return {
    title: { text: title, anchor: 'start', fontSize: 14 },
    data: { values },
    width: 560,
    height: { step: 22 },
    layer: [
      {
        mark: { type: 'bar', height: { band: 0.72 } },
        encoding: {
          y,
          x: at('value'),
          color: {
            field: 'whose',
            type: 'nominal',
            scale: colour,
            legend: { title: null, orient: 'top', labelLimit: 0 },
          },
        },
      },
      {
        mark: { type: 'rule', color: '#333' },
        encoding: { y, x: at('low'), x2: { field: 'high' } },
      },
      {
        mark: { type: 'text', align: 'left', dx: 6, fontSize: 11, color: '#222' },
        encoding: { y, x: at('high'), text: { field: 'text' } },
      },
    ],
  }
}
