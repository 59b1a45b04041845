import type { ISocketFactory } from 'kafkajs';
import { kafkajsModule } from './kafkajs-module.adapter.js';

// kafkajs 2.2.4 splits the address that it begins with at its first colon, which an IPv6 address has inside. So such an address
// reaches it as [2001-db8--1]:9092, and each connection as it was meant. Addresses that the brokers tell come undivided.

/** An address of a broker as kafkajs can split it. */
export function splittable(address: string): string {
  const end = address.lastIndexOf(':');
  const host = address.slice(0, end).replace(/^\[(.*)\]$/, '$1');
  return host.includes(':') ? `[${host.replaceAll(':', '-')}]${address.slice(end)}` : address;
}

const meant = (host: string): string => /^\[(.*)\]$/.exec(host)?.[1]?.replaceAll('-', ':') ?? host;

const factory = kafkajsModule('network/socketFactory')?.exports as () => ISocketFactory;
const usual = factory();

/** Opens the connections of kafkajs. */
export const openSocket: ISocketFactory = (asked) => usual({ ...asked, host: meant(asked.host) });
