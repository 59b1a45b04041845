import { z } from 'zod';

const moment = z.iso.datetime();

/** Why the relay ends a stream of `GET /listen`, and what its client should do. */
export const STREAM_ENDS = {
  token: 'The access token has ended: fetch another, and connect again with Last-Event-ID.',
  stopping: 'This process of the relay stops: connect again with Last-Event-ID.',
  slow: 'Too much waited to be read: connect again with Last-Event-ID, and read faster.',
  lost: 'The log no longer has the place of this stream: connect again with Last-Event-ID.',
  replaced: 'You opened more streams than you may have at once: this was the oldest.',
} as const;
export type StreamEnd = keyof typeof STREAM_ENDS;

/** The data of each event of `GET /listen` by its name. */
export const ListenEvents = {
  open: z.object({
    secret: z.string().describe('The signing secret of all your streams.'),
    types: z.array(z.string()).describe('The event types that you get.'),
  }),
  delivery: z.object({
    id: z.string().describe('Id of the envelope.'),
    type: z.string(),
    headers: z.record(z.string(), z.string()).describe('The headers of a delivery but for a credential.'),
    body: z.string().describe('The envelope as the source sent it; its UTF-8 is what is signed.'),
  }),
  skipped: z.object({
    since: moment.describe('When the last place that you read was told.'),
    until: moment.describe('When this stream began.'),
  }),
  end: z.object({
    reason: z.enum(Object.keys(STREAM_ENDS) as [StreamEnd, ...StreamEnd[]]),
    detail: z.string().describe('What to do.'),
  }),
} as const;
type Events = typeof ListenEvents;
export type ListenEventName = keyof Events;
export type ListenEventData<Name extends ListenEventName> = z.infer<Events[Name]>;
