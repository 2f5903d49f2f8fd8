import { metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { channels, type RefusalEvent, type SuccessEvent } from 'fastify-authn'

/**
 * Reports what fastify-authn does to OpenTelemetry. Call it once, at startup.
 *
 * @returns a function that stops it
 */
export function observeAuthentication(): () => void {
  const tracer = trace.getTracer('fastify-authn')
  const meter = metrics.getMeter('fastify-authn')
  const requests = meter.createCounter('auth.requests', {
    description: 'Requests that were authenticated or rejected',
  })
  const durations = meter.createHistogram('auth.duration', {
    description: 'How long it took until a request was authenticated or rejected',
    unit: 's',
  })
  const alarms = meter.createCounter('auth.reused_refresh_tokens', {
    description: 'Refresh tokens that were used again, and so were copied',
  })

  const report = (outcome: string, event: SuccessEvent | RefusalEvent): void => {
    const { authenticator, duration } = event
    // Few different values: each combination is a time series of its own.
    const attributes = {
      'auth.outcome': outcome,
      'auth.authenticator': authenticator,
      ...('code' in event && { 'auth.code': event.code }),
    }
    requests.add(1, attributes)
    // Null where the request had begun before the first subscriber came.
    if (duration === null) return
    durations.record(duration / 1000, attributes)
    // The event comes when the work is done. The span of the request is its parent.
    const end = Date.now()
    const span = tracer.startSpan('authenticate', { attributes, startTime: end - duration })
    // A rejected client is no error of the server; a store or a user lookup that is too slow is one.
    if (outcome === 'overloaded') span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(end)
    const { id } = Object(event.user) as { id?: unknown }
    if (id !== undefined) trace.getActiveSpan()?.setAttribute('user.id', String(id))
  }

  const stops = (['success', 'login', 'failure', 'throttled', 'overloaded'] as const).map(
    (name) => {
      const listener = (event: SuccessEvent | RefusalEvent): void => report(name, event)
      channels[name].subscribe(listener)
      return () => channels[name].unsubscribe(listener)
    },
  )
  const onReuse = (): void => alarms.add(1)
  channels.reuse.subscribe(onReuse)
  return () => {
    for (const stop of stops) stop()
    channels.reuse.unsubscribe(onReuse)
  }
}
