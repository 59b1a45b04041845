// The roles of a stack for the time of a task.
import { appOf, startRoles, tokenOf } from './system.mjs';

/** Starts the roles, lets the task use them, and ends them; fails when one ends before. */
export async function withRoles({ stack, tools, signal, ends }, task, nodeFlags) {
  const roles = await startRoles(stack, signal, nodeFlags);
  const end = () => roles.stop();
  ends.push(end);
  const ofTools = Object.fromEntries(Object.entries(tools).map(([name, { pid }]) => [name, pid]));
  const pids = { ...roles.pids, ...stack.pids, ...ofTools };
  const ingresses = Object.entries(stack.ports).filter(([name]) => appOf(name) === 'ingress');
  const port = ingresses.map(([, { PORT }]) => Number(PORT));
  const target = port.length === 0 ? undefined : { port, token: await tokenOf(stack.url, stack.source) };
  const done = await Promise.race([roles.broken, task({ ...tools, tools, pids, target, stack }, roles)]);
  ends.splice(ends.indexOf(end), 1);
  await roles.stop();
  return done;
}
