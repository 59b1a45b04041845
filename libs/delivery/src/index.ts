// Owns one attempt: the delivery's name, the request as docs/partners.md describes it with its signature, the HTTP
// sender, and what an answer means. Guarantees the same bytes on every attempt, no redirects, a total deadline, and that the
// sender never rejects. Leaves to `retry` what becomes of a delivery, to `egress` where may be connected to, to `admission`
// how many attempts run at once.
export { deliveryId, parseDeliveryId, type Delivery } from './delivery.js';
export { HttpSender, type HttpSenderSettings } from './http-sender.adapter.js';
export { classify, type AttemptError, type AttemptResult, type Outcome } from './outcome.js';
export { buildRequest, type Attempt, type DeliveryRequest } from './request.js';
export { Sender } from './sender.port.js';
export { TracedSender } from './traced-sender.js';
export { newSigningSecret, sign, signatureHeader } from './signature.js';
