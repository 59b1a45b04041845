import type { Tracing } from '@relay/telemetry';
import { type AttemptResult, classify, type Outcome } from './outcome.js';
import type { DeliveryRequest } from './request.js';

/** Makes the HTTP request of one attempt. */
export abstract class Sender {
  /**
   * Never rejects: every failure is a result. A final status counts as soon as its head has arrived, whatever the body does. An
   * aborted signal ends the attempt at once as failed.
   */
  abstract send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult>;

  /** Waits for the running attempts, each at most until its deadline, then closes all connections. Later sends fail. */
  abstract close(): Promise<void>;
}

/** Adds a span for each attempt to the trace of its envelope; the request names that span to the endpoint. */
export class TracedSender extends Sender {
  constructor(
    private readonly sender: Sender,
    private readonly tracing: Tracing,
  ) {
    super();
  }

  async send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult> {
    const { headers } = request;
    const isTest = headers['relay-test'] !== undefined;
    // A test delivery belongs to no trace of a source: it has its own.
    const parent = isTest ? undefined : headers['traceparent'];
    const span = this.tracing.start(request.method, 'client', parent, {
      'http.request.method': request.method,
      ...serverOf(request.url),
      'relay.envelope_id': headers['webhook-id'] ?? '',
      'relay.event_type': headers['relay-event-type'] ?? '',
      'relay.webhook_id': request.webhookId,
      'relay.attempt': Number(headers['relay-attempt']),
      ...(isTest ? { 'relay.test': true } : {}),
    });
    const traced = { ...request, headers: { ...headers, traceparent: span.traceparent } };
    const result = await this.sender.send(traced, signal);
    const outcome = classify(result, Date.now());
    const status = outcome.status === undefined ? {} : { 'http.response.status_code': outcome.status };
    span.end({ ...status, 'relay.outcome': outcome.kind }, faultOf(outcome));
    return result;
  }

  close(): Promise<void> {
    return this.sender.close();
  }
}

/** Returns no more of the URL than its server: path and query may hold a secret between the partner and its endpoint. */
function serverOf(url: string): Record<string, string | number> {
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  const { hostname, port, protocol } = parsed;
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) };
}

const faultOf = (outcome: Outcome): string | undefined =>
  outcome.kind === 'delivered' ? undefined : outcome.status === undefined ? wordOf(outcome) : String(outcome.status);

const wordOf = (outcome: Outcome): string => (outcome.kind === 'failed' ? (outcome.error ?? 'unknown') : outcome.kind);
