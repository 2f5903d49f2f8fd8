/** The first paragraph of prose of a page, without links and line breaks. */
export function summaryOf(page) {
  const paragraphs = page.replaceAll(/^```[^]*?^```$/gm, '').split(/\n{2,}/)
  const first = paragraphs.find((text) => /^(?![#<>|!]|- |\d+\. |\s*$)/.test(text)) ?? ''
  return first.replaceAll(/!?\[(.*?)\]\(.*?\)/g, '$1').replaceAll(/\s+/g, ' ')
}

export const sentenceOf = (page) => /^.*?[.!?:](?= [A-Z*`]|$)|^.*$/.exec(summaryOf(page))[0]
