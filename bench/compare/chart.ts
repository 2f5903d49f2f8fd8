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

/** Of the many variants of ours, those that say most. */
const ownInChart = new Set([
  'fastify-authn, HS256',
  'fastify-authn, HS256, first seen',
  'fastify-authn, RS256',
  'fastify-authn, ES256',
  'fastify-authn, Basic, remembered',
])
const colours = {
  'fastify-authn': '#1a7f5a',
  others: '#8a93a0',
  'by hand': '#c9a227',
}

/** @returns the results as an SVG */
export async function drawChart(results: readonly Result[], subtitle: string): Promise<string> {
  const shown = results.filter(
    ({ variant: { group, name } }) =>
      group !== 'against' && (group !== 'ours' || ownInChart.has(name)),
  )
  const renderer = await Child.start(peerAddress('chart'), {})
  const svg = await renderer.ask<string>('draw', chartOf(shown, subtitle))
  await renderer.end()
  return `${svg}\n`
}

function chartOf(results: readonly Result[], subtitle: string): object {
  const isHs256 = ({ variant }: Result): boolean => variant.algorithm === 'HS256'
  const others = results.filter((result) => !isHs256(result))
  const hs256 = results.filter(isHs256)
  return {
    background: 'white',
    padding: 16,
    title: {
      text: 'Protected routes in Node.js',
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
    vconcat: [
      panel('Requests per second of processor time: HS256 and Basic', hs256.map(rateBar), ',.0f'),
      panel('Requests per second of processor time: RS256 and ES256', others.map(rateBar), ',.0f'),
      panel('Share of the unprotected route of the same app', results.map(ratioBar), '.2f'),
    ],
  }
}

const whoseOf = ({ variant: { group } }: Result): Bar['whose'] =>
  group === 'ours' ? 'fastify-authn' : group === 'floor' ? 'by hand' : 'others'

function rateBar(result: Result): Bar {
  const { median, low, high } = result.rate
  const text = Math.round(median).toLocaleString('en-US')
  return { name: result.variant.name, whose: whoseOf(result), value: median, low, high, text }
}

function ratioBar(result: Result): Bar {
  const { median, low, high } = result.ratio
  const text = median.toFixed(2)
  return { name: result.variant.name, whose: whoseOf(result), value: median, low, high, text }
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
