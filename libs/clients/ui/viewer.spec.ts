import { readable, visible } from './viewer.js';

describe('JSON', () => {
  it('is indented without a change of its numbers or the order of its members', () => {
    expect(readable('{"b":1.10,"a":[12345678901234567890,{"t":"x, [y] \\" {z}"}],"e":{},"f":[]}')).toBe(
      [
        '{',
        '  "b": 1.10,',
        '  "a": [',
        '    12345678901234567890,',
        '    {',
        String.raw`      "t": "x, [y] \" {z}"`,
        '    }',
        '  ],',
        '  "e": {},',
        '  "f": []',
        '}',
      ].join('\n'),
    );
  });

  it.each(['<script>alert(1)</script>', '{"a":', ''])('that is none, as %j, is shown as it is', (text) => {
    expect(readable(text)).toBe(text);
  });
});

describe('text', () => {
  it.each([
    ['a\u0000b\u001b[31m\u007f', 'a␀b␛[31m␡'],
    ['\u202Egnp.exe', '⟨U+202E⟩gnp.exe'],
    ['a\u200Bb\uFEFF\u2066', 'a⟨U+200B⟩b⟨U+FEFF⟩⟨U+2066⟩'],
    ['tab\tand\nline', 'tab\tand\nline'],
    ['שלום 🙂 مرحبا', 'שלום 🙂 مرحبا'],
  ])('%j is seen as %s', (text, seen) => {
    expect(visible(text)).toBe(seen);
  });
});
