import { readFileSync } from 'node:fs';
import { errorsPage, ProblemError, PROBLEMS, toProblem } from './index.js';

const at = { publicUrl: 'https://relay.example', instance: '/webhooks', requestId: 'r-1' };

describe('the catalogue', () => {
  const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

  it('has exactly the codes that docs/errors.md lists', () => {
    expect([...page.matchAll(/^## (\S+)$/gm)].map((match) => match[1])).toEqual(Object.keys(PROBLEMS));
  });

  it('is the text of docs/errors.md', () => {
    expect(page).toBe(errorsPage());
  });

  it.each(Object.entries(PROBLEMS))('gives %s a status of HTTP errors and a kebab-case name', (code, { status }) => {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
  });
});

describe('toProblem', () => {
  it('names type, title, status, detail, instance and request', () => {
    expect(toProblem(new ProblemError('not-found', 'There is no such webhook.'), at)).toEqual({
      type: 'https://relay.example/docs/errors#not-found',
      title: 'Not found',
      status: 404,
      detail: 'There is no such webhook.',
      instance: '/webhooks',
      requestId: 'r-1',
    });
  });

  it('adds members and member faults, which replace nothing', () => {
    const errors = [{ pointer: '/eventType', detail: 'is required' }];
    const members = { id: 'x', status: 200, type: 'about:blank' };
    expect(toProblem(new ProblemError('conflict', 'It exists.', { errors, members }), at)).toMatchObject({
      id: 'x',
      status: 409,
      type: 'https://relay.example/docs/errors#conflict',
      errors,
    });
  });
});
