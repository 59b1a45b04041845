import { NotFoundException } from '@nestjs/common';
import { ProblemError } from '@relay/problem';
import { RegistryUnavailable } from '@relay/redis';
import { problemOf } from './problem.filter.js';

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

describe('problemOf', () => {
  it.each([
    ['a problem', new ProblemError('conflict', 'It exists.'), 'conflict'],
    ["the framework's own error", new NotFoundException(), 'not-found'],
    ["the HTTP server's own error", Object.assign(new Error('x'), { statusCode: 413 }), 'payload-too-large'],
    ['a Redis that starts', reply('LOADING Redis is loading the dataset in memory'), 'unavailable'],
    ['a Redis that fails over', reply('READONLY You can’t write against a read only replica.'), 'unavailable'],
    ['a full Redis', reply('OOM command not allowed'), 'unavailable'],
    ['a wrong command', reply('WRONGTYPE Operation against a key'), 'internal'],
    ['a frozen Redis', new Error('Command timed out'), 'unavailable'],
    ['a Redis that is away', new Error('Connection is closed.'), 'unavailable'],
    ['a socket that Redis leaves', new Error('Socket timeout. Expecting data.'), 'unavailable'],
    ['a Redis that refuses', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'unavailable'],
    ['an ended wait of ours', new DOMException('x', 'AbortError'), 'internal'],
    ['a registration not confirmed', new RegistryUnavailable('x', true), 'unavailable'],
    ['registrations that cannot be read', new RegistryUnavailable('x', false), 'unavailable'],
    ['an error of ours', new TypeError('x is undefined'), 'internal'],
    ['nothing at all', undefined, 'internal'],
  ])('names %s', (_name, thrown, code) => {
    expect(problemOf(thrown).code).toBe(code);
  });
});
