import { existsSync, globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Document } from './document.js';

const pages = globSync(['*.md', '{charts,docs,lab,libs}/**/*.md'], { exclude: ['**/node_modules'] });

describe('the documents', () => {
  it('are found', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/README.md', 'docs/integrate/verify.md']));
  });

  it.each(pages)('%s links only to files and headings that are there', (path) => {
    const page = new Document(path);
    const broken = page.links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : normalize(join(dirname(path), file));
      if (!existsSync(target)) return true;
      return anchor !== undefined && target.endsWith('.md') && !new Document(target).anchors.includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});
