import { readFileSync } from 'node:fs';
import { contrast, dressOf, readTheme } from './theme.js';

const data = (type: string, bytes: string | Buffer): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';
const dress = (theme: object) => dressOf(readTheme(JSON.stringify(theme)), 'portal/files/');

describe('a theme', () => {
  it.each([
    ['{', /^JSON such as/],
    ['{"colour":"#123456"}', /colour/],
    ['{"name":""}', /^name: /],
    ['{"name":"a\\u202eb"}', /^name: /],
    [`{"name":"${'x'.repeat(41)}"}`, /^name: /],
    ['{"accent":"red"}', /^accent: /],
    ['{"accent":"#123456;}*{x:y"}', /^accent: /],
    ['{"logo":"http://cdn.example/a.png"}', /^logo: /],
    ['{"logo":"https://user:pass@cdn.example/a.png"}', /^logo: /],
    ['{"logo":"https://cdn.example/a;script-src *"}', /^logo: /],
    ['{"logo":"https://*.example/a.png"}', /^logo: /],
    [`{"logo":"${data('text/html', SVG)}"}`, /^logo: /],
    [`{"logo":"${data('image/png', SVG)}"}`, /^logo: /],
    [`{"logo":"${data('image/svg+xml', SVG.padEnd(16_385))}"}`, /^logo: .* 16384 bytes/],
  ])('is refused as %s, by its member', (text, message) => {
    expect(() => readTheme(text)).toThrow(message);
  });

  it('adds no markup of its own', () => {
    const { head, name } = dress({ name: `"><script>'&`, logo: 'https://cdn.example/"><x>' });
    expect(`${head}${name}`.replaceAll(/<(?:meta|link) [^<>]*>/g, '')).toBe('&#34;&#62;&#60;script&#62;&#39;&#38;');
  });

  it('permits images of its address, or serves the image itself', () => {
    expect(dress({ logo: 'https://cdn.example/a.png?v=1' })).toMatchObject({ images: 'https://cdn.example/a.png' });
    const { images, files, head } = dress({ logo: data('image/svg+xml', SVG) });
    const [[name, file] = ['']] = files;
    expect([images, file]).toEqual(['', { type: 'image/svg+xml', bytes: Buffer.from(SVG) }]);
    expect(head).toContain(`href="portal/files/${name}"`);
  });

  const base = readFileSync('libs/clients/ui/base.css', 'utf8');
  const pairs = new Map(
    [...base.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, ...pair]) => [name, pair]),
  );
  const backs = ['page', 'panel', 'sunk', 'good-back', 'bad-back', 'warn-back', 'on-accent'];
  const rgb = (colour = ''): number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

  it.each(['#ffffff', '#000000', '#ffd400', '#1d5fbf', '#e11d48', '#00b37e', '#7f7f7f'])(
    'with the accent %s can be read on every background, and buttons too',
    (accent) => {
      const [style] = [...dress({ accent }).files.values()].map(({ bytes }) => bytes.toString());
      const accents = style?.match(/#\w{6}/g) ?? [];
      expect(accents).toHaveLength(2);
      for (const back of backs)
        for (const scheme of [0, 1])
          expect(contrast(rgb(accents[scheme]), rgb(pairs.get(back)?.[scheme]))).toBeGreaterThanOrEqual(4.5);
    },
  );

  it('keeps an accent that can be read as it is', () => {
    expect(String([...dress({ accent: '#1d5fbf' }).files.values()][0]?.bytes)).toContain('light-dark(#1d5fbf,');
  });
});
