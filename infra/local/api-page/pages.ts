import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export interface Page {
  readonly contentType: string;
  readonly body: string;
}

export type Pages = (path: string) => Page | undefined;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

export function openPages(mailboxUrl: () => string | undefined): Pages {
  const swaggerUi = join(
    createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'),
    '..',
  );
  const files: Readonly<Record<string, string>> = {
    '/': join(import.meta.dirname, 'home.html'),
    '/docs': join(import.meta.dirname, 'index.html'),
    '/docs/': join(import.meta.dirname, 'index.html'),
    '/docs/page.js': join(import.meta.dirname, 'page.js'),
    '/docs/page.css': join(import.meta.dirname, 'page.css'),
    '/docs/swagger-ui.css': join(swaggerUi, 'swagger-ui.css'),
    '/docs/swagger-ui-bundle.js': join(swaggerUi, 'swagger-ui-bundle.js'),
  };
  return (path) => {
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (!file) return undefined;
    const body = path === '/' ? homePage(file, mailboxUrl()) : readFileSync(file, 'utf8');
    return { contentType: TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? '', body };
  };
}

function homePage(file: string, mailboxUrl: string | undefined): string {
  const link = mailboxUrl
    ? `<li><a href="${mailboxUrl}">The mailbox</a>, which receives all mail</li>`
    : '';
  return readFileSync(file, 'utf8').replace('<!-- mailbox -->', link);
}
