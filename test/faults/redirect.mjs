// Preloaded into a role: connections to a port on this machine go to another one, as REDIRECT=<from>:<to> says. A broker
// names its own address to its clients, so only this way every connection leads through a proxy.
import { Socket } from 'node:net';

const [from, to] = (process.env.REDIRECT ?? '').split(':').map(Number);

if (to) {
  const connect = Reflect.get(Socket.prototype, 'connect');
  Socket.prototype.connect = function (...args) {
    // Node passes what it has normalised on as an array in the first place.
    const options = Array.isArray(args[0]) ? args[0][0] : args[0];
    if (typeof options === 'object' && Number(options.port) === from) options.port = to;
    return connect.apply(this, args);
  };
}
