import { duration, list } from './env.js';

const isOrigin = (text: string): boolean => URL.parse(text)?.origin === text && /^https?:/.test(text);

export const portalEnv = {
  PORTAL_LINK_TTL: duration('60s', { from: '1s', to: '24h' }).describe(
    'How long a link to the portal can be opened, once; longer than a minute for development only.',
  ),
};

/** Origins such as `https://app.example`, as a browser writes them, with commas between them. */
export const origins = () =>
  list().refine((named) => named.every(isOrigin), 'origins such as https://app.example are expected');
