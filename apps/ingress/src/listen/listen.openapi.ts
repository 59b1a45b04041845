import { ListenEvents } from '@relay/events';
import { z } from 'zod';
import type { OperationText } from '@relay/openapi';
import { ListenHeaders, ListenQuery } from './listen-query.js';

const events = Object.entries(ListenEvents).map(([name, { shape }]) => {
  const members = Object.entries(shape).map(
    ([member, { description }]) =>
      `\`${member}\`${description === undefined ? '' : ` (${description.replace(/\.$/, '')})`}`,
  );
  return `\`${name}\`: ${members.join(', ')}.`;
});

export const listen: OperationText = {
  id: 'listen',
  tag: 'Deliveries',
  summary: 'Receive your envelopes over this connection',
  description: [
    'For a program under development that no webhook can reach: server-sent events, one for each envelope that a webhook of yours would get, from the moment of the request on. It is a look at the log beside your webhooks: no delivery, attempt or retry comes of it, and an envelope can come twice.',
    'The data of each event is a JSON object.',
    ...events,
    'Each event has an `id`; so does a heartbeat every 15 s. With the last one as `Last-Event-ID`, at any process of the relay, the stream goes on behind it; `skipped` tells where that was more than 10,000 records back or is not in the log any more. A stream ends with its access token.',
  ].join('\n\n'),
  query: ListenQuery,
  headers: ListenHeaders,
  answer: {
    description: 'The events, as they come.',
    mediaType: 'text/event-stream',
    content: {
      schema: z.string(),
      example: 'retry: 1000\nid: v1.k1.AAAA\nevent: open\ndata: {"secret":"whsec_…","types":["task.created"]}\n\n',
    },
  },
  problems: [],
};
