rtemplate < }
