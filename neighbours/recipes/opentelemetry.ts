import { metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { channels, type RejectionEvent, type SuccessEvent } from 'fastify-authn'

/**
 * Reports the events of fastify-authn to OpenTelemetry. Call it once, at startup.
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
    description: 'Time until a request was authenticated or rejected',
    unit: 's',
  })
  const alarms = meter.createCounter('auth.reused_refresh_tokens', {
    description: 'Refresh tokens that were used again, which means that they were copied',
  })

  const report = (outcome: string, event: SuccessEvent | RejectionEvent): void => {
    const { authenticator, duration } = event
    // These have few different values, since each combination is a time series of its own.
    const attributes = {
      'auth.outcome': outcome,
      'auth.authenticator': authenticator,
      ...('code' in event && { 'auth.code': event.code }),
    }
    requests.add(1, attributes)
    // Null if the first listener subscribed after the request had begun.
    if (duration === null) return
    durations.record(duration / 1000, attributes)
    // The event is published at the end. The parent is the active span, that of the request.
    const end = Date.now()
    const span = tracer.startSpan('authenticate', { attributes, startTime: end - duration })
    // Rejecting a client is no error of the server; a 503 is one.
    if (outcome === 'overloaded') span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(end)
    const { id } = Object(event.user) as { id?: unknown }
    if (id !== undefined) trace.getActiveSpan()?.setAttribute('user.id', String(id))
  }

  const stops = (['success', 'login', 'failure', 'throttled', 'overloaded'] as const).map(
    (name) => {
      const listener = (event: SuccessEvent | RejectionEvent): void => report(name, event)
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
