import type { Language, ReadRequest } from './request.ts';
import { code, indented, literal } from './text.ts';

/** Code for a GET request. */
export const read: Record<Language, (request: ReadRequest) => string> = { curl, javascript, python, go, php };

function curl({ url, headers, tokenVariable }: ReadRequest): string {
  return [
    `curl ${literal.shell(url)}`,
    ...(tokenVariable === null ? [] : [`-H "Authorization: Bearer $${tokenVariable}"`]),
    ...headers.map(([name, value]) => `-H ${literal.shell(`${name}: ${value}`)}`),
  ].join(' \\\n  ');
}

function javascript({ url, headers, tokenVariable, isJson }: ReadRequest): string {
  const fields = headers.map(([name, value]) => `${literal.single(name)}: ${literal.single(value)},`);
  if (tokenVariable !== null) fields.unshift(`Authorization: \`Bearer \${process.env.${tokenVariable}}\`,`);
  const call = `const response = await fetch(${literal.single(url)}`;
  return code(
    fields.length === 0
      ? `${call});`
      : [`${call}, {`, '  headers: {', ...indented('    ', fields), '  },', '});'],
    isJson
      ? ['if (!response.ok) throw new Error(await response.text());', 'console.log(await response.json());']
      : 'console.log(response.status, await response.text());',
  );
}

function python({ url, headers, tokenVariable, isJson }: ReadRequest): string {
  const fields = headers.map(([name, value]) => `${literal.python(name)}: ${literal.python(value)},`);
  if (tokenVariable !== null) {
    fields.unshift(`"Authorization": "Bearer " + os.environ[${literal.python(tokenVariable)}],`);
  }
  const create = 'request = urllib.request.Request(';
  return code(
    isJson ? 'import json' : null,
    tokenVariable === null ? null : 'import os',
    isJson ? null : 'import urllib.error',
    'import urllib.request',
    '',
    fields.length === 0
      ? `${create}${literal.python(url)})`
      : [
          create,
          `    ${literal.python(url)},`,
          '    headers={',
          ...indented('        ', fields),
          '    },',
          ')',
        ],
    isJson
      ? ['with urllib.request.urlopen(request) as response:', '    print(json.load(response))']
      : [
          'try:',
          '    with urllib.request.urlopen(request) as response:',
          '        print(response.status, response.read().decode())',
          'except urllib.error.HTTPError as error:',
          '    print(error.code, error.read().decode())',
        ],
  );
}

function go({ url, headers, tokenVariable }: ReadRequest): string {
  const packages = ['fmt', 'io', 'log', 'net/http', ...(tokenVariable === null ? [] : ['os'])];
  const fields = headers.map(
    ([name, value]) => `request.Header.Set(${literal.go(name)}, ${literal.go(value)})`,
  );
  if (tokenVariable !== null) {
    fields.unshift(`request.Header.Set("Authorization", "Bearer "+os.Getenv(${literal.go(tokenVariable)}))`);
  }
  return `package main

import (
${packages.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
	request, err := http.NewRequest("GET", ${literal.go(url)}, nil)
	if err != nil {
		log.Fatal(err)
	}
${fields.map((field) => `\t${field}\n`).join('')}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, string(body))
}`;
}

function php({ url, headers, tokenVariable }: ReadRequest): string {
  const fields = headers.map(([name, value]) => `${literal.single(`${name}: ${value}`)},`);
  if (tokenVariable !== null) {
    fields.unshift(`'Authorization: Bearer ' . getenv(${literal.single(tokenVariable)}),`);
  }
  return code(
    '<?php',
    "$context = stream_context_create(['http' => [",
    fields.length === 0 ? null : ["    'header' => [", ...indented('        ', fields), '    ],'],
    "    'ignore_errors' => true,",
    ']]);',
    `$response = fopen(${literal.single(url)}, 'r', false, $context);`,
    'echo stream_get_meta_data($response)[\'wrapper_data\'][0], "\\n";',
    'echo stream_get_contents($response);',
  );
}
