import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';

/** A page or one of its files. */
export interface Page {
  readonly contentType: string;
  readonly body: string;
}

/** The page for a path; undefined if there is none. */
export type Pages = (path: string) => Page | undefined;

/**
 * The pages that the local service has in addition to its API: `/` and the API reference at
 * `/docs`.
 */
export function openPages(mailboxUrl: () => string | undefined): Pages {
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = new Map([
    ['/', join(import.meta.dirname, 'home.html')],
    ['/docs', join(import.meta.dirname, 'index.html')],
    ['/docs/', join(import.meta.dirname, 'index.html')],
    ...['page.js', 'page.css'].map((name) => served(import.meta.dirname, name)),
    ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name) => served(swaggerUi, name)),
  ]);
  return (path) => {
    const file = files.get(path);
    if (!file) return undefined;
    const mailbox = mailboxUrl();
    const link = mailbox
      ? `<li><a href="${mailbox}">The mailbox</a>, which receives all mail</li>`
      : '';
    const body = readFileSync(file, 'utf8').replace('<!-- mailbox -->', link);
    const type = extname(file).slice(1).replace('js', 'javascript');
    return { contentType: `text/${type}; charset=utf-8`, body };
  };
}

const served = (folder: string, name: string): [path: string, file: string] => [
  `/docs/${name}`,
  join(folder, name),
];
